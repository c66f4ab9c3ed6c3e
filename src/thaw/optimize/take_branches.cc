// Ifs whose condition is known.
#include <algorithm>
#include <optional>
#include <vector>

#include "thaw/optimize/passes.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/patch.h"
#include "thaw/rewrite/splice.h"

namespace thaw::optimizing {
namespace {

bool has_ifs(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const ir::Node* node) {
    const auto inner = node->subgraphs();
    return !inner.empty() &&
           (node->op_type() == "If" || std::ranges::any_of(inner, [](const ir::Graph* one) { return has_ifs(*one); }));
  });
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
                            .location = node->describe(),
                            .replaced = {{"If", is_true ? "its then_branch" : "its else_branch"}}});
    rewrite::splice(**branch, node, rewrite::name_of(*node));
    rewrite::replace_node(node, (*branch)->outputs());
    ++count;
  }
  return count;
}

}  // namespace

int take_branches(Context& context) {
  if (!has_ifs(*context.model.graph)) return 0;
  std::vector<DecidedIf> decided;
  collect_decided(*context.model.graph, context.facts(), !context.frozen().empty(), decided);
  if (decided.empty()) return 0;
  const int count = rewrite::edit_as_one(context, [&] { return take(decided, context.changes); });
  if (count > 0) context.look_again();  // the branches' constants have moved
  return count;
}

}  // namespace thaw::optimizing
