#include "thaw/quant/already.h"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/quant/blocks/three_bits.h"
#include "thaw/quant/inner_nodes.h"
#include "thaw/rewrite/splice.h"

namespace thaw::quantizing {
namespace {

using ir::DataType;

// Of the codes that it reads or makes; 0 of a node without.
int bits_of_codes(const ir::Node& node, const infer::Inference& facts) {
  constexpr int kMost = 8;
  if (const auto bits = ops::bits_in_blocks(node)) return *bits;
  int least = 0;
  const auto look_at = [&](const ir::Value* value) {
    if (!value) return;
    const ops::Fact& fact = facts.fact(value);
    const int bits = fact.is_tensor() && ir::is_integer(fact.dtype) ? ir::bits_of(fact.dtype) : kMost + 1;
    if (bits <= kMost) least = least == 0 ? bits : std::min(least, bits);
  };
  for (const ir::Value* input : node.inputs()) look_at(input);
  for (const ir::Value* output : node.outputs()) look_at(output);
  return least;
}

// What the codes of a node stand for; none where it has none, or no format is of so many bits.
std::optional<NumberFormat> format_of_codes(const ir::Node& node, const infer::Inference& facts) {
  const ops::Operator* op = ops::registry().find(node);
  if (!op || (op->operands.find(ops::Role::kQuantScale) < 0 && op->operands.find(ops::Role::kZeroPoint) < 0))
    return std::nullopt;
  const bool in_blocks = ops::bits_in_blocks(node) || node.attribute_int("block_size", 0) > 0;
  switch (bits_of_codes(node, facts)) {
    case 2:
      return NumberFormat::kInt2;
    case 4: {
      const bool are_three =
          std::ranges::any_of(node.inputs(), [](const ir::Value* input) { return blocks::is_of_three_bits(input); });
      return are_three ? NumberFormat::kInt3 : NumberFormat::kInt4;
    }
    case 8:
      return in_blocks ? NumberFormat::kInt8Blocks : NumberFormat::kInt8;
    default:
      return std::nullopt;
  }
}

bool computes_in(const ir::Node& node, DataType type, const infer::Inference& facts) {
  return std::ranges::any_of(node.outputs(), [&](const ir::Value* output) {
    return output && facts.fact(output).is_tensor() && facts.fact(output).dtype == type;
  });
}

}  // namespace

std::vector<Change> already_in(const ir::Model& model, const infer::Inference& facts, const Precisions& precisions,
                               std::vector<Change>& left) {
  std::vector<Change> already;
  for_nodes(*model.graph, [&](const ir::Node& node) {
    const NumberFormat to = precisions.of(node).to;
    if (to == NumberFormat::kKeep) return;
    const std::optional<NumberFormat> codes = format_of_codes(node, facts);
    const bool is_there =
        is_half(to) ? computes_in(node, to == NumberFormat::kFloat16 ? DataType::kFloat16 : DataType::kBfloat16, facts)
                    : codes == to;
    const auto add = [&](std::vector<Change>& to_list, std::string why) {
      to_list.push_back({.kind = std::string(name_of(to)),
                         .location = rewrite::name_of(node),
                         .part = {},
                         .replaced = {},
                         .nodes = 0,
                         .why = std::move(why)});
    };
    if (is_there) {
      add(already, {});
    } else if (codes && !is_half(to)) {
      add(left, fmt::format("it is already quantized to {}: convert the original model instead", name_of(*codes)));
    }
  });
  return already;
}

}  // namespace thaw::quantizing
