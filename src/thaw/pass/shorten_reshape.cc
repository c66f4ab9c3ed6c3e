#include "thaw/pass/shorten_reshape.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/infer/infer.h"

namespace thaw::pass {

using dim::Dim;

std::vector<int64_t> constant_target(const std::vector<Dim>& in, const std::vector<Dim>& out) {
  std::vector<int64_t> target(out.size());
  bool free = false;
  for (size_t j = 0; j < out.size(); ++j) {
    Dim d = out[j];
    if (d.is_constant()) {
      if (d.is_constant(0)) return {};
      target[j] = *d.constant();
    } else if (j < in.size() && dim::same(d, in[j])) {
      target[j] = 0;
    } else if (!free) {
      free = true;
      target[j] = -1;
    } else {
      return {};
    }
  }
  // A dim that only running tells is left to -1 alone: the others must make up for it exactly.
  if (free && !dim::same(dim::product(in), dim::product(out))) return {};
  return target;
}

namespace {

// Nodes that only serve the target: what would go with it.
int chain_length(const ir::Value* target) {
  int count = 0;
  std::vector<const ir::Value*> stack{target};
  while (!stack.empty() && count < 64) {
    const ir::Value* v = stack.back();
    stack.pop_back();
    const ir::Node* node = v ? v->producer() : nullptr;
    if (!node || v->uses().size() > 1 || v->is_output() || node->op_type() == "Constant") continue;
    ++count;
    for (const ir::Value* in : node->inputs()) stack.push_back(in);
  }
  return count;
}

}  // namespace

void shorten_reshapes(ir::Model& model, FixReport& report) {
  dim::Scope scope;
  infer::Result result = infer::infer(model, scope);
  ir::Graph& graph = *model.graph;
  for (ir::Node* node : graph.nodes()) {
    if (node->op_type() != "Reshape" || !node->domain().empty() || node->attribute_int("allowzero", 0) != 0) continue;
    const ir::Value* shape = node->input(1);
    if (!shape || shape->constant() || !shape->producer() || !node->input(0)) continue;
    int chain = chain_length(shape);
    if (chain < 2) continue;  // nothing would go
    const ops::Fact &in = result.fact(node->input(0)), &out = result.fact(node->output(0));
    if (!in.shape || !out.shape) continue;
    std::vector<int64_t> target = constant_target(*in.shape, *out.shape);
    if (target.empty()) continue;
    std::string name = graph.unique_name(node->output(0)->name() + "_shape");
    node->set_input(1,
                    graph.add_initializer(ir::Tensor::from_int64(name, {static_cast<int64_t>(target.size())}, target)));
    report.changed.push_back(
        {"THAW034", node->describe(),
         fmt::format("a chain of {} nodes becomes the constant [{}]", chain, fmt::join(target, ", "))});
  }
}

}  // namespace thaw::pass
