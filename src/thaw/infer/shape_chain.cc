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

bool has_computed_target(const ir::Node& node) {
  const ir::Value* shape = node.input(1);
  return node.op_type() == "Reshape" && node.domain().empty() && node.attribute_int("allowzero", 0) == 0 &&
         node.input(0) && node.output(0) && shape && !shape->constant() && shape->producer();
}

std::optional<std::vector<int64_t>> constant_target(const ir::Node& node, const Result& result,
                                                    const Result& literals) {
  if (!has_computed_target(node)) return std::nullopt;
  const ops::Fact &in_fact = result.fact(node.input(0)), &out_fact = result.fact(node.output(0));
  if (!in_fact.shape || !out_fact.shape) return std::nullopt;
  std::vector<Dim> literal(out_fact.shape->size());
  if (const ops::ElementsPtr& written = literals.fact(node.input(1)).elements;
      written && written->size() == literal.size())
    for (size_t j = 0; j < literal.size(); ++j) literal[j] = (*written)[j].as_dim();
  // A 0 or -1 of the file stands for a size that the shapes tell.
  for (Dim& d : literal)
    if (!d.is_constant() || *d.constant() <= 0) d = Dim();
  return ops::reshape_target(*in_fact.shape, *out_fact.shape, literal);
}

std::optional<ShapeChain> shape_chain(const ir::Node& node, const Result& result, const Result& literals) {
  if (!has_computed_target(node)) return std::nullopt;
  const int nodes = chain_length(node.input(1));
  if (nodes < 2) return std::nullopt;
  auto target = constant_target(node, result, literals);
  if (!target) return std::nullopt;
  return ShapeChain{.target = std::move(*target), .nodes = nodes};
}

}  // namespace thaw::infer
