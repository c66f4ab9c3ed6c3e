#include "thaw/infer/shape_chain.h"

#include <algorithm>

#include "thaw/ops/onnx/reshape_target.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::infer {

using dim::Dim;

namespace {

constexpr std::string_view kAllowZero = "allowzero";
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

// With allowzero a target of 0 is a size, so that a tensor without elements has any other sizes beside it. A copied size is as
// good; but -1 is what the others leave, and where one of them is 0 there is nothing to tell it by. Where the file has a -1 there
// itself, ONNX calls it invalid beside a 0.
bool holds_without_elements(const ops::Shape& in, const std::vector<int64_t>& target, const ops::ElementsPtr& before) {
  const auto inferred = std::ranges::find(target, -1);
  if (inferred == target.end()) return true;
  const auto position = static_cast<size_t>(inferred - target.begin());
  if (before && position < before->size() && (*before)[position].as_int() == -1) return true;
  for (size_t j = 0; j < target.size(); ++j)
    if (target[j] == 0 && !ops::at_least(in[j], 1)) return false;
  return true;
}

}  // namespace

bool has_computed_target(const ir::Node& node) {
  const ir::Value* shape = node.input(1);
  return node.op_type() == "Reshape" && node.domain().empty() && node.input(0) && node.output(0) && shape &&
         !shape->constant() && shape->producer();
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
  auto target = ops::reshape_target(*in_fact.shape, *out_fact.shape, literal);
  if (target && node.attribute_int(kAllowZero, 0) != 0 &&
      !holds_without_elements(*in_fact.shape, *target, result.fact(node.input(1)).elements))
    return std::nullopt;
  return target;
}

void set_constant_target(ir::Node& node, ir::Value* target) {
  node.set_input(1, target);
  node.remove_attribute(kAllowZero);
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
