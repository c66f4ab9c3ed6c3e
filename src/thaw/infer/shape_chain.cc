#include "thaw/infer/shape_chain.h"

namespace thaw::infer {

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

constexpr int kLongest = 64;  // counting further tells nothing new

// Nodes that only serve the target: what would go with it.
int chain_length(const ir::Value* target) {
  int count = 0;
  std::vector<const ir::Value*> stack{target};
  while (!stack.empty() && count < kLongest) {
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

std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result) {
  if (node.op_type() != "Reshape" || !node.domain().empty() || node.attribute_int("allowzero", 0) != 0)
    return std::nullopt;
  const ir::Value *data = node.input(0), *shape = node.input(1), *out = node.output(0);
  if (!data || !shape || !out || shape->constant() || !shape->producer()) return std::nullopt;
  ShapeChain chain;
  chain.nodes = chain_length(shape);
  const ops::Fact &in_fact = result.fact(data), &out_fact = result.fact(out);
  if (chain.nodes < 2 || !in_fact.shape || !out_fact.shape) return std::nullopt;
  chain.target = constant_target(*in_fact.shape, *out_fact.shape);
  if (chain.target.empty()) return std::nullopt;
  return chain;
}

}  // namespace thaw::infer
