// Forms that DirectML runs well: positions without Shape -> Range, which goes through the CPU, and convolutions over two
// axes, which its kernels are made for.
#include <vector>

#include "thaw/optimize/tables.h"

namespace thaw::optimizing {
namespace {

constexpr int kMostAxes = 3;  // of an input whose zeros are counted: tokens, masks, positions

struct InputAxis {
  ir::Value* input;
  int axis;
};

// An input of integers that is as long along one of its axes; the shortest way to so many ones.
std::optional<InputAxis> input_of_length(const Site& s, const dim::Dim& length) {
  std::optional<InputAxis> found;
  for (ir::Value* input : s.node().graph()->inputs()) {
    const ops::Fact& fact = s.fact(input);
    if (!ir::is_integer(fact.dtype) || fact.rank() < 1 || fact.rank() > kMostAxes) continue;
    if (found && s.fact(found->input).rank() <= fact.rank()) continue;
    for (int axis = 0; axis < fact.rank(); ++axis)
      if (dim::same(fact.dim(axis), length)) found = {input, axis};
  }
  return found;
}

// Range(0, length, 1) as the ones before each place, added up: zeros of an input, along one axis, and one to each.
ir::Value* positions(const Site& s) {
  const ir::DataType type = s.out().dtype;
  if (s.node().graph()->parent() != nullptr || s.out().rank() != 1 || s.out().dim(0).is_constant()) return nullptr;
  if (s.number(s.input(0)) != 0 || s.number(s.input(2)) != 1) return nullptr;
  if (type != ir::DataType::kInt64 && type != ir::DataType::kInt32) return nullptr;
  const auto from = input_of_length(s, s.out().dim(0));
  if (!from) return nullptr;
  const ops::Emit& at = s.at();
  std::vector<int64_t> others;
  for (int axis = 0; axis < s.fact(from->input).rank(); ++axis)
    if (axis != from->axis) others.push_back(axis);
  ir::Value* numbers =
      s.fact(from->input).dtype == ir::DataType::kInt64 ? from->input : at.cast(from->input, ir::DataType::kInt64);
  ir::Value* zeros = at.mul(numbers, at.integer(0));
  if (!others.empty()) zeros = at.reduce("ReduceSum", zeros, others, false);
  ir::Value* counted = at.emit("CumSum", {at.add(zeros, at.integer(1)), at.integer(0)}, {{"exclusive", int64_t{1}}});
  return type == ir::DataType::kInt64 ? counted : at.cast(counted, type);
}

// A list of one number an axis, and one for an axis before it.
void add_axis(ops::Attributes& attributes, const ir::Node& node, std::string_view name, int64_t number) {
  const auto given = node.attribute_ints(name);
  if (given.empty()) return;
  std::vector<int64_t> list;
  const bool both_ends = given.size() == 2;
  for (const int64_t one : given) {
    list.push_back(number);
    list.push_back(one);
  }
  if (both_ends) list = {number, given[0], number, given[1]};
  attributes.push_back({std::string(name), std::move(list)});
}

ir::Value* over_two_axes(const Site& s) {
  if (s.in(0).rank() != 3 || s.in(1).rank() != 3) return nullptr;
  const ops::Emit& at = s.at();
  ops::Attributes attributes;
  for (const ir::Attribute& attribute : s.node().attributes())
    if (attribute.name == "auto_pad" || attribute.name == "group") attributes.push_back(attribute);
  for (const std::string_view name : {"kernel_shape", "strides", "dilations", "output_shape"})
    add_axis(attributes, s.node(), name, 1);
  for (const std::string_view name : {"pads", "output_padding"}) add_axis(attributes, s.node(), name, 0);
  std::vector<ir::Value*> inputs = {at.unsqueeze(s.input(0), {2}), at.unsqueeze(s.input(1), {2})};
  if (s.input(2)) inputs.push_back(s.input(2));
  return at.squeeze(at.emit("ConvTranspose", std::move(inputs), std::move(attributes)), {2});
}

const Simplification kTable[] = {
    {"count positions", {"Range"}, positions},
    {"convolve over two axes", {"ConvTranspose"}, over_two_axes},
};

}  // namespace

std::span<const Simplification> directml_forms() { return kTable; }

}  // namespace thaw::optimizing
