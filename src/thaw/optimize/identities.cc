// Nodes whose output is their input.
#include <algorithm>

#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

ir::Value* same_value(const Site& s) { return s.input(0); }

// Elements in their order: where the shape is the same for every size, so is the tensor. Slices go forward then.
ir::Value* same_shape(const Site& s) { return s.keeps_shape_of(0) ? s.input(0) : nullptr; }

// A shape of which nothing is known is not said to be that of the data by how many elements there are: a Reshape may be there to end where it
// is another (rewrite/guard_inputs.h).
ir::Value* reshaped_as_it_is(const Site& s) {
  const bool is_computed = s.node().op_type() == "Reshape" && s.input(1) && !constant_of(s.input(1));
  const ops::ElementsPtr target = is_computed ? s.in(1).elements : nullptr;
  const auto is_known = [](const ops::Element& size) { return size.as_dim().is_known(); };
  return is_computed && (!target || !std::ranges::all_of(*target, is_known)) ? nullptr : same_shape(s);
}

ir::Value* whole_slice(const Site& s) {
  if (s.node().inputs().size() > 4 && s.node().input(4)) {
    const auto steps = s.integers(4, "");
    if (!steps || std::ranges::any_of(*steps, [](int64_t step) { return step <= 0; })) return nullptr;
  }
  return same_shape(s);
}

ir::Value* same_type(const Site& s) {
  return s.in(0).is_tensor() && s.in(0).dtype != ir::DataType::kUndefined && s.in(0).dtype == s.out().dtype ? s.input(0)
                                                                                                            : nullptr;
}

ir::Value* unmoved(const Site& s) {
  const auto permutation = s.node().attribute_ints("perm");
  if (permutation.empty()) return s.in(0).rank() >= 0 && s.in(0).rank() <= 1 ? s.input(0) : nullptr;
  for (size_t i = 0; i < permutation.size(); ++i)
    if (permutation[i] != static_cast<int64_t>(i)) return nullptr;
  return s.input(0);
}

ir::Value* no_padding(const Site& s) {
  const auto pads = s.integers(1, s.opset() < 2 ? "paddings" : "pads");
  return pads && std::ranges::all_of(*pads, [](int64_t pad) { return pad == 0; }) ? s.input(0) : nullptr;
}

bool is_empty_along(const Site& s, const ir::Value* value, int64_t axis) {
  const ops::Fact& fact = s.fact(value);
  if (!fact.has_rank() || axis < -fact.rank() || axis >= fact.rank()) return false;
  return fact.dim(static_cast<int>(axis < 0 ? axis + fact.rank() : axis)).is_constant(0);
}

// Concat of one, or of several of which but one are empty.
ir::Value* one_part(const Site& s) {
  ir::Value* only = nullptr;
  const int64_t axis = s.node().attribute_int("axis", s.opset() < 4 ? 1 : 0);
  for (ir::Value* part : s.node().inputs()) {
    if (s.node().inputs().size() > 1 && is_empty_along(s, part, axis)) continue;
    if (only) return nullptr;
    only = part;
  }
  return only;
}

ir::Value* only_operand(const Site& s) { return s.node().inputs().size() == 1 ? s.input(0) : nullptr; }

// Dropout outside training. Before opset 7 an attribute says which it is.
ir::Value* no_dropout(const Site& s) {
  if (s.opset() < 7 && s.node().attribute_int("is_test", 0) == 0) return nullptr;
  if (s.input(2) && s.number(s.input(2)).value_or(1) != 0) return nullptr;
  return s.input(0);
}

// The operand beside a constant that changes nothing. One of more axes than the other would change the shape.
ir::Value* other_operand(const Site& s, int constant, double neutral) {
  const int other = 1 - constant;
  return s.number(s.input(constant)) == neutral && s.keeps_shape_of(other) ? s.input(other) : nullptr;
}

ir::Value* plus_zero(const Site& s) {
  if (ir::Value* other = other_operand(s, 1, 0)) return other;
  return other_operand(s, 0, 0);
}
ir::Value* minus_zero(const Site& s) { return other_operand(s, 1, 0); }
ir::Value* times_one(const Site& s) {
  if (ir::Value* other = other_operand(s, 1, 1)) return other;
  return other_operand(s, 0, 1);
}
ir::Value* over_one(const Site& s) { return other_operand(s, 1, 1); }
ir::Value* or_false(const Site& s) { return plus_zero(s); }
ir::Value* and_true(const Site& s) { return times_one(s); }

// A Resize to the size that is there. Only a crop looks elsewhere then.
ir::Value* same_size(const Site& s) {
  if (s.node().attribute_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") return nullptr;
  if (s.node().op_type() == "Resize" && s.input(2)) {  // scales that round to the same size sample elsewhere
    if (const ir::Tensor* scales = constant_of(s.input(2)); !scales || scales->num_elements() > 0)
      if (s.number(s.input(2)) != 1.0) return nullptr;
  }
  if (s.node().op_type() == "Upsample") {
    const auto scales = s.number(s.input(1));
    if (s.node().inputs().size() > 1 ? scales != 1.0 : true) return nullptr;
  }
  return same_shape(s);
}

// Clip to all there is. Before opset 11 its limits are attributes.
ir::Value* no_limits(const Site& s) {
  if (s.input(1) || s.input(2) || s.node().attribute("min") || s.node().attribute("max")) return nullptr;
  return s.input(0);
}

// Where a constant condition takes all of one side, or both sides are one.
ir::Value* decided(const Site& s) {
  if (s.input(1) == s.input(2) && s.keeps_shape_of(1)) return s.input(1);
  const auto condition = s.number(s.input(0));
  if (!condition) return nullptr;
  const int taken = *condition != 0 ? 1 : 2;
  return s.keeps_shape_of(taken) ? s.input(taken) : nullptr;
}

// A reduction that keeps one element a position: over axes of size 1, or over none.
ir::Value* reduced_over_ones(const Site& s) {
  if (!s.keeps_shape_of(0)) return nullptr;
  const int rank = s.in(0).rank();
  const bool names_axes = s.input(1) || s.node().attribute("axes");
  const auto axes = s.axes(s.node(), 1, rank);
  if (names_axes && !axes) return nullptr;
  if (!names_axes || axes->empty()) {
    if (s.node().attribute_int("noop_with_empty_axes", 0) != 0) return s.input(0);
    return std::ranges::all_of(*s.in(0).shape, [](dim::Dim d) { return d.is_constant(1); }) ? s.input(0) : nullptr;
  }
  return std::ranges::all_of(*axes, [&](int64_t axis) { return s.in(0).dim(static_cast<int>(axis)).is_constant(1); })
             ? s.input(0)
             : nullptr;
}

// A window of one element, step by step.
ir::Value* pooled_alone(const Site& s) {
  const auto ones = [&](std::string_view name) {
    const auto values = s.node().attribute_ints(name);
    return std::ranges::all_of(values, [](int64_t v) { return v == 1; });
  };
  const auto pads = s.node().attribute_ints("pads");
  return ones("kernel_shape") && ones("strides") && std::ranges::all_of(pads, [](int64_t p) { return p == 0; })
             ? same_shape(s)
             : nullptr;
}

// One part is the whole, as its size must be. A constant may be a size that was frozen, which the node then says.
ir::Value* only_part(const Site& s) {
  if (s.node().outputs().size() != 1) return nullptr;
  const bool is_computed = s.input(1) && !constant_of(s.input(1)) && !s.input(1)->is_input();
  return is_computed ? s.input(0) : same_shape(s);
}

const Simplification kIdentities[] = {
    {"drop an Identity", {"Identity"}, same_value},
    {"drop a Cast to the type that is there", {"Cast", "CastLike"}, same_type},
    {"drop a reshaping to the shape that is there",
     {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"},
     reshaped_as_it_is},
    {"drop a Transpose that moves nothing", {"Transpose"}, unmoved},
    {"drop a Slice of the whole", {"Slice"}, whole_slice},
    {"drop a Pad by nothing", {"Pad"}, no_padding},
    {"drop a Split into one", {"Split"}, only_part},
    {"drop a Concat of one", {"Concat"}, one_part},
    {"drop what has one operand", {"Max", "Min", "Sum", "Mean"}, only_operand},
    {"drop a Dropout", {"Dropout"}, no_dropout},
    {"drop an addition of 0", {"Add"}, plus_zero},
    {"drop a subtraction of 0", {"Sub"}, minus_zero},
    {"drop a multiplication by 1", {"Mul"}, times_one},
    {"drop a division by 1", {"Div"}, over_one},
    {"drop a power of 1", {"Pow"}, over_one},
    {"drop a condition that is known", {"Or", "Xor"}, or_false},
    {"drop a condition that is known", {"And"}, and_true},
    {"drop a Resize to the size that is there", {"Resize", "Upsample"}, same_size},
    {"drop a Clip without limits", {"Clip"}, no_limits},
    {"drop a Where that takes one side", {"Where"}, decided},
    {"drop a reduction over axes of 1",
     {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"},
     reduced_over_ones},
    {"drop a pool over one element", {"MaxPool", "AveragePool"}, pooled_alone},
};

}  // namespace

std::span<const Simplification> identities() { return kIdentities; }

}  // namespace thaw::optimizing
