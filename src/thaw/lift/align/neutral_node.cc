#include "thaw/lift/align/neutral_node.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "thaw/lift/align/averages_matrix.h"
#include "thaw/lift/align/constant_operand.h"
#include "thaw/ops/onnx/constant_operand.h"
#include "thaw/ops/rule/product_groups.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

using ops::Role;

// How many axes of `in`, one after the other, each axis of `out` is the product of.
std::optional<std::vector<int64_t>> joined_axes(const Sizes& in, const Sizes& out) {
  if (std::ranges::any_of(out, [](int64_t size) { return size <= 0; })) return std::nullopt;
  std::vector<int64_t> joins(out.size(), 0);
  if (in.empty()) return joins;
  const auto groups = ops::group_by_product(in, out);
  if (!groups) return std::nullopt;
  for (const ops::AxisGroup& group : *groups) {
    // All axes of the group are joined into one; beside it there are only ones.
    size_t joined = group.out_begin, larger = 0;
    for (size_t axis = group.out_begin; axis < group.out_end; ++axis) {
      if (out[axis] == 1) continue;
      joined = axis;
      ++larger;
    }
    if (larger > 1) return std::nullopt;
    joins[joined] = static_cast<int64_t>(group.in_end - group.in_begin);
  }
  return joins;
}

bool is_steady_role(Role role) {
  return role == Role::kAxes || role == Role::kSteps || role == Role::kSetting || role == Role::kRegion;
}

bool makes_size(Role role) {
  return role == Role::kPads || role == Role::kBounds || role == Role::kShape || role == Role::kScales ||
         role == Role::kRepeats;
}

// The axes that a list of bounds is for.
std::vector<int64_t> bounded_axes(const ir::Node& node, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i)
    if (ops::role_of(node, i) == Role::kAxes)
      if (const ir::Tensor* tensor = constant_operand(node, i)) axes = tensor->to_int64();
  return axes;
}

// Whether a constant there is the second list of bounds: where cuts end.
bool is_end(const ir::Node& node, int input) { return ops::role_of(node, input - 1) == Role::kBounds; }

std::vector<int64_t> sizes_along(const ir::Node& node, size_t count, const Sizes& sizes) {
  std::vector<int64_t> along;
  for (int64_t axis : bounded_axes(node, count)) {
    if (axis < 0) axis += static_cast<int64_t>(sizes.size());
    along.push_back(axis >= 0 && axis < static_cast<int64_t>(sizes.size()) ? sizes[static_cast<size_t>(axis)] : 0);
  }
  return along;
}

ir::Tensor integers_like(const ir::Tensor& like, std::string name, const std::vector<int64_t>& values) {
  const std::vector<int64_t> dims{static_cast<int64_t>(values.size())};
  if (like.data_type == ir::DataType::kInt64) return ir::Tensor::from_int64(std::move(name), dims, values);
  std::vector<std::byte> bytes(values.size() * sizeof(int32_t));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<int32_t>(values[i]);
    std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof(value), bytes.data() + i * sizeof(value));
  }
  return ir::Tensor::from_bytes(std::move(name), like.data_type, dims, std::move(bytes));
}

// Whether it is a product with a matrix of averages along one of the last two axes of its data.
bool pools_an_axis(const ir::Node& node, int data) {
  const auto product = node.inputs().size() == 2 ? ops::weight_product(node) : std::nullopt;
  if (!product || product->x_is_transposed || product->weight_is_transposed || product->alpha != 1) return false;
  const ir::Tensor* averages = constant_operand(node, 1 - data);
  return averages && is_averages_matrix(*averages, data == 0);
}

// Exporters leave out what multiplies by 1, or divides by it.
bool scales_all(const ir::Node& node, int data) {
  const auto factor = ops::constant_factor(node);
  const ir::Tensor* number = factor && factor->operand == 1 - data ? constant_operand(node, factor->operand) : nullptr;
  return number && number->data_type == ir::DataType::kFloat && number->num_elements() == 1;
}

// The constant with which the operand changes nothing; a copy of what is there for one that says how.
ir::Tensor neutral_operand(const OptionalNode& like, int input, const Sizes& data, const Sizes& result,
                           std::string name) {
  const ir::Tensor& there = *constant_operand(*like.node, input);
  if (pools_an_axis(*like.node, like.data)) {
    const int64_t side = data[data.size() - (like.data == 0 ? 1 : 2)];
    return averages_matrix(std::move(name), side, side, like.data == 0);
  }
  if (scales_all(*like.node, like.data))
    return ir::Tensor::from_float(std::move(name), there.dims, std::vector<float>{1.0F});
  const auto count = static_cast<size_t>(there.num_elements());
  switch (ops::role_of(*like.node, input)) {
    case Role::kPads:
      return integers_like(there, std::move(name), std::vector<int64_t>(count, 0));
    case Role::kRepeats:
      return integers_like(there, std::move(name), std::vector<int64_t>(count, 1));
    case Role::kShape:
      return integers_like(there, std::move(name), result);
    case Role::kBounds:
      return integers_like(
          there, std::move(name),
          is_end(*like.node, input) ? sizes_along(*like.node, count, data) : std::vector<int64_t>(count, 0));
    case Role::kScales:
      return ir::Tensor::from_float(std::move(name), there.dims, std::vector<float>(count, 1.0F));
    default: {
      ir::Tensor copy = there;
      copy.name = std::move(name);
      return copy;
    }
  }
}

}  // namespace

bool hold_as_many(const Sizes& a, const Sizes& b) {
  const auto count = [](const Sizes& sizes) -> std::optional<int64_t> {
    int64_t product = 1;
    for (const int64_t size : sizes)
      if (__builtin_mul_overflow(product, size, &product)) return std::nullopt;
    return product;
  };
  const auto first = count(a), second = count(b);
  return first && first == second;
}

std::optional<OptionalNode> optional_node(ir::Node& node,
                                          const std::function<std::optional<Sizes>(const ir::Value*)>& sizes_of) {
  if (node.inputs().empty() || node.outputs().size() != 1) return std::nullopt;
  const std::optional<Sizes> out = sizes_of(node.output(0));
  for (const int data : {0, 1}) {
    const bool pools = pools_an_axis(node, data), scales = !pools && scales_all(node, data);
    if (!pools && !scales) continue;
    const std::optional<Sizes> in = sizes_of(node.input(data));
    if (!in || !out || in->size() != out->size() || node.input(data)->constant()) return std::nullopt;
    if (pools ? in->size() < 2 : in != out) return std::nullopt;
    return OptionalNode{.node = &node, .data = data, .in = *in, .out = *out};
  }
  const std::optional<Sizes> in = sizes_of(node.input(0));
  const ops::Operator* op = ops::registry().find(node);
  if (!op || !in || !out || node.inputs().size() < 2 || !node.input(0)) return std::nullopt;
  if (!op->moves_elements() && op->operands.find(Role::kScales) < 0) return std::nullopt;
  if (op->operands[0] != Role::kData || node.input(0)->constant()) return std::nullopt;
  bool sizes = false;
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    if (!node.input(i)) continue;
    const Role role = op->operands[i];
    const ir::Tensor* tensor = constant_operand(node, i);
    if (!tensor || (!is_steady_role(role) && !makes_size(role))) return std::nullopt;
    const bool integers = tensor->data_type == ir::DataType::kInt64 || tensor->data_type == ir::DataType::kInt32;
    if (makes_size(role) && !integers && role != Role::kScales) return std::nullopt;
    if (role == Role::kSteps && std::ranges::any_of(tensor->to_int64(), [](int64_t step) { return step != 1; }))
      return std::nullopt;
    sizes |= makes_size(role) && tensor->num_elements() > 0;
  }
  if (!sizes) return std::nullopt;
  OptionalNode found{.node = &node, .data = 0, .in = *in, .out = *out};
  // A shape that holds as many elements joins axes, or says nothing new; others repeat, pad, cut or resize.
  if (op->operands[1] == Role::kShape && hold_as_many(*in, *out)) {
    auto joins = joined_axes(*in, *out);
    if (!joins) return std::nullopt;
    if (std::ranges::any_of(*joins, [](int64_t count) { return count != 1; })) found.joins = std::move(*joins);
  } else if (in->size() != out->size()) {
    return std::nullopt;
  }
  return found;
}

std::optional<Sizes> neutral_sizes(const OptionalNode& node, const Sizes& data) {
  if (data.size() != node.in.size()) return std::nullopt;
  if (node.joins.empty()) return data;
  if (!hold_as_many(data, data)) return std::nullopt;
  Sizes sizes;
  size_t at = 0;
  for (const int64_t count : node.joins) {
    int64_t product = 1;
    for (int64_t i = 0; i < count; ++i) product *= data[at++];
    sizes.push_back(product);
  }
  return sizes;
}

ir::Value* put_neutral(const OptionalNode& like, ir::Value* data, const Sizes& sizes, ir::Graph& graph,
                       ir::Node* before) {
  const std::string name = graph.unique_name(like.node->output(0)->name());
  const Sizes result = *neutral_sizes(like, sizes);
  std::vector<ir::Value*> inputs;
  for (int i = 0; i < static_cast<int>(like.node->inputs().size()); ++i) {
    if (i == like.data) {
      inputs.push_back(data);
      continue;
    }
    inputs.push_back(like.node->input(i) ? graph.add_initializer(neutral_operand(
                                               like, i, sizes, result, graph.unique_name(like.node->input(i)->name())))
                                         : nullptr);
  }
  ir::Node* node =
      graph.add_node(like.node->op_type(), like.node->domain(), std::move(inputs), {graph.add_value(name)}, {}, before);
  for (const ir::Attribute& attribute : like.node->attributes()) node->set_attribute(attribute);
  return node->output(0);
}

void spell_out(const OptionalNode& like, ir::Graph& graph) {
  for (int i = 1; i < static_cast<int>(like.node->inputs().size()); ++i) {
    const ir::Tensor* tensor = constant_operand(*like.node, i);
    const Role role = ops::role_of(*like.node, i);
    if (!tensor || (role != Role::kShape && role != Role::kBounds) || tensor->num_elements() == 0) continue;
    std::vector<int64_t> values = like.out;
    if (role == Role::kBounds) {
      values = tensor->to_int64();
      const std::vector<int64_t> along = sizes_along(*like.node, values.size(), like.in);
      for (size_t k = 0; k < values.size(); ++k)
        values[k] = std::clamp(values[k] < 0 ? values[k] + along[k] : values[k], int64_t{0}, along[k]);
    }
    like.node->set_input(
        i, graph.add_initializer(integers_like(*tensor, graph.unique_name(like.node->input(i)->name()), values)));
  }
}

}  // namespace thaw::lifting
