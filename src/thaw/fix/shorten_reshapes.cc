// Computed targets of Reshapes that a constant says as well.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/fix/passes.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/shape_chain.h"

namespace thaw::fixing {

namespace {

struct Shortened {
  ir::Node* node;
  ir::Value *computed, *constant;  // the target as it was, and what says the same
  bool allows_zero;                // as it was
  Change change;
};

struct Chain {
  ir::Node* node;
  infer::ShapeChain says;
};

std::vector<Chain> find_chains(const ir::Model& model) {
  dim::Scope scope;
  const infer::Result result = infer::infer(model, scope), literals = infer::infer_literals(model, scope);
  std::vector<Chain> chains;
  for (ir::Node* node : model.graph->nodes())
    if (auto chain = infer::shape_chain(*node, result, literals)) chains.push_back({node, std::move(*chain)});
  return chains;
}

std::vector<Shortened> shorten(ir::Model& model, const std::vector<Chain>& chains) {
  ir::Graph& graph = *model.graph;
  std::vector<Shortened> all;
  for (const auto& [node, chain] : chains) {
    const std::string name = graph.unique_name(node->output(0)->name() + "_shape");
    ir::Value* computed = node->input(1);
    ir::Value* constant =
        graph.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(chain.target.size())}, chain.target));
    const bool allows_zero = node->attribute_int("allowzero", 0) != 0;
    infer::set_constant_target(*node, constant);
    all.push_back(
        {node,
         computed,
         constant,
         allows_zero,
         {"THAW034",
          node->describe(),
          {},
          {{fmt::format("{} nodes", chain.nodes), fmt::format("the constant [{}]", fmt::join(chain.target, ", "))}}}});
  }
  return all;
}

// The constants of a model that hold a frozen size.
std::set<std::string> frozen_constants(const ir::Model& model) {
  dim::Scope scope;
  std::set<std::string> names;
  for (const frozen::FrozenSite& site : frozen::find_frozen(model, scope).sites)
    if (site.constant) names.insert(site.constant->name());
  return names;
}

// Takes back what would look frozen where it did not: a chain shows where its numbers come from, and which of them are
// no sizes. Where that is a constant elsewhere, it does not tell whose chain it was.
void take_back_frozen(ir::Model& model, const std::set<std::string>& before, std::vector<Shortened>& all) {
  while (!all.empty()) {
    const std::set<std::string> now = frozen_constants(model);
    const bool any_own =
        std::ranges::any_of(all, [&](const Shortened& one) { return now.contains(one.constant->name()); });
    if (!any_own && std::ranges::includes(before, now)) return;
    std::erase_if(all, [&](const Shortened& one) {
      if (any_own && !now.contains(one.constant->name())) return false;
      one.node->set_input(1, one.computed);
      if (one.allows_zero) one.node->set_attribute({"allowzero", int64_t{1}});
      model.graph->remove_initializer(one.constant);
      return true;
    });
  }
}

}  // namespace

int shorten_reshapes(rewrite::PassContext& context) {
  ir::Model& model = context.model;
  const std::vector<Chain> chains = find_chains(model);
  if (chains.empty()) return 0;
  const std::set<std::string> frozen = frozen_constants(model);
  std::vector<Shortened> all = shorten(model, chains);
  if (!frozen.empty()) take_back_frozen(model, frozen, all);
  for (Shortened& one : all) context.changes.made.push_back(std::move(one.change));
  return static_cast<int>(all.size());
}

}  // namespace thaw::fixing
