#include "thaw/infer/shape_chain.h"

#include "thaw/ops/onnx/reshape_target.h"

namespace thaw::infer {

using dim::Dim;

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
    if (!node || v->uses().size() > 1 || v->is_output() || v->constant()) continue;
    ++count;
    for (const ir::Value* in : node->inputs()) stack.push_back(in);
  }
  return count;
}

}  // namespace

std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result, const Result& literals) {
  if (node.op_type() != "Reshape" || !node.domain().empty() || node.attribute_int("allowzero", 0) != 0)
    return std::nullopt;
  const ir::Value *data = node.input(0), *shape = node.input(1), *out = node.output(0);
  if (!data || !shape || !out || shape->constant() || !shape->producer()) return std::nullopt;
  ShapeChain chain;
  chain.nodes = chain_length(shape);
  const ops::Fact &in_fact = result.fact(data), &out_fact = result.fact(out);
  if (chain.nodes < 2 || !in_fact.shape || !out_fact.shape) return std::nullopt;
  std::vector<Dim> literal(out_fact.shape->size());
  if (const ops::ElementsPtr& written = literals.fact(shape).elements; written && written->size() == literal.size())
    for (size_t j = 0; j < literal.size(); ++j) literal[j] = (*written)[j].as_dim();
  // A 0 or -1 of the file stands for a size that the shapes tell.
  for (Dim& d : literal)
    if (!d.is_constant() || *d.constant() <= 0) d = Dim();
  auto target = ops::reshape_target(*in_fact.shape, *out_fact.shape, literal);
  if (!target) return std::nullopt;
  chain.target = std::move(*target);
  return chain;
}

}  // namespace thaw::infer
