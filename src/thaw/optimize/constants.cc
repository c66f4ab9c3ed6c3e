#include "thaw/optimize/constants.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

int list_in(ir::Graph& graph) {
  int count = 0;
  for (ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) count += list_in(*inner);
    ir::Value* output = node->output(0);
    if (!node->constant() || !node->inputs().empty() || !output || output->is_output() ||
        !graph.returned_by(output).empty())
      continue;
    ir::Tensor tensor = *node->constant();
    tensor.name = output->name();
    tensor.extra.clear();
    graph.rename(output, graph.unique_name(tensor.name + "_node"));
    graph.replace_uses(output, graph.add_initializer(std::move(tensor)));
    graph.remove_node(node);
    ++count;
  }
  return count;
}

int list_all(ir::Model& model) {
  return model.ir_version < 4 ? 0 : list_in(*model.graph);  // before, each would have to be an input
}

int told(int count, rewrite::Changes& changes) {
  if (count > 0)
    changes.made.push_back(
        {.kind = "list constants",
         .place = "the model",
         .part = {},
         .replaced = {},
         .why = fmt::format("{} Constant node{} became initializers", count, count == 1 ? "" : "s")});
  return count;
}

struct DecidedIf {
  ir::Node* node = nullptr;
  bool is_true = false;
};

// What the condition is whenever the node runs: a constant says it, or every size that the model can have. What follows from a
// size that was frozen is not asked: another size may say otherwise.
std::optional<bool> known_condition(const ir::Value* condition, const infer::Inference& facts, bool has_frozen) {
  if (const ir::Tensor* constant = constant_of(condition)) {
    if (constant->num_elements() != 1) return std::nullopt;
    return constant->to_int64().front() != 0;
  }
  if (has_frozen || !condition) return std::nullopt;
  const ops::ElementsPtr& elements = facts.fact(condition).elements;
  const auto value = elements && elements->size() == 1 ? elements->front().as_double() : std::nullopt;
  return value ? std::optional(*value != 0) : std::nullopt;
}

void collect_decided(const ir::Graph& graph, const infer::Inference& facts, bool has_frozen,
                     std::vector<DecidedIf>& found) {
  for (ir::Node* node : graph.nodes()) {
    if (node->subgraphs().empty()) continue;
    for (const ir::Graph* inner : node->subgraphs()) collect_decided(*inner, facts, has_frozen, found);
    if (node->op_type() != "If" || !node->domain().empty()) continue;
    if (const auto condition = known_condition(node->input(0), facts, has_frozen)) found.push_back({node, *condition});
  }
}

int take(const std::vector<DecidedIf>& decided, rewrite::Changes& changes) {
  int count = 0;
  for (const auto& [node, is_true] : decided) {
    const ir::Attribute* attribute = node->attribute(is_true ? "then_branch" : "else_branch");
    const auto* branch = attribute ? attribute->as<std::shared_ptr<ir::Graph>>() : nullptr;
    if (!branch || !rewrite::can_splice(**branch)) continue;
    changes.made.push_back({.kind = "take the branch that is known",
                            .place = node->describe(),
                            .replaced = {{"If", is_true ? "its then_branch" : "its else_branch"}}});
    rewrite::splice(**branch, node, rewrite::name_of(*node));
    rewrite::replace_node(node, (*branch)->outputs());
    ++count;
  }
  return count;
}

}  // namespace

int list_constants(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  return told(rewrite::edit_as_one(model, facts, [&] { return list_all(model); }), changes);
}

int list_constants(ir::Model& model, rewrite::Changes& changes) { return told(list_all(model), changes); }

int take_branches(ir::Model& model, infer::Inference& facts, bool has_frozen, rewrite::Changes& changes) {
  std::vector<DecidedIf> decided;
  collect_decided(*model.graph, facts, has_frozen, decided);
  if (decided.empty()) return 0;
  return rewrite::edit_as_one(model, facts, [&] { return take(decided, changes); });
}

}  // namespace thaw::optimizing
