#include "thaw/optimize/constants.h"

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

std::vector<ir::Node*> decided_ifs(const ir::Graph& graph) {
  std::vector<ir::Node*> found;
  for (ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) {
      const std::vector<ir::Node*> deeper = decided_ifs(*inner);
      found.insert(found.end(), deeper.begin(), deeper.end());
    }
    if (node->op_type() == "If" && node->domain().empty() && constant_of(node->input(0))) found.push_back(node);
  }
  return found;
}

int take_in(const ir::Graph& graph, rewrite::Changes& changes) {
  int count = 0;
  for (ir::Node* node : decided_ifs(graph)) {
    const ir::Tensor& condition = *constant_of(node->input(0));
    if (condition.num_elements() != 1) continue;
    const bool is_true = condition.to_int64().front() != 0;
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

int take_branches(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes) {
  return rewrite::edit_as_one(model, facts, [&] { return take_in(*model.graph, changes); });
}

}  // namespace thaw::optimizing
