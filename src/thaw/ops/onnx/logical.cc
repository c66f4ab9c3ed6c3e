// Comparison, logic, bits and Where. Comparisons are decided where the known ranges of the sizes decide them: a
// declared dim is never -1, so the Where(Equal(shape, -1), …) of exported Expands folds.
#include <array>

#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using ir::DataType;

namespace {

Element truth(bool yes, bool no) { return yes ? Element::integer(1) : no ? Element::integer(0) : Element(); }

// Where the sizes decide, the answer is an expression of them: the condition of an If is asked for it.
Element equal(Operands a) {
  Order o = compare(a[0], a[1]);
  if (!o.equal && !o.differ) return Element::integer(is_equal(a[0].as_dim(), a[1].as_dim()));
  return truth(o.equal, o.differ);
}
Element less(Operands a) {
  Order o = compare(a[0], a[1]);
  return truth(o.less, o.at_least);
}
Element greater(Operands a) {
  Order o = compare(a[0], a[1]);
  return truth(o.greater, o.at_most);
}
Element less_or_equal(Operands a) {
  Order o = compare(a[0], a[1]);
  return truth(o.at_most, o.greater);
}
Element greater_or_equal(Operands a) {
  Order o = compare(a[0], a[1]);
  return truth(o.at_least, o.less);
}

bool surely_true(const Element& e) { return e.as_int() == 1; }
bool surely_false(const Element& e) { return e.as_int() == 0; }

Element logical_and(Operands a) {
  return truth(surely_true(a[0]) && surely_true(a[1]), surely_false(a[0]) || surely_false(a[1]));
}
Element logical_or(Operands a) {
  return truth(surely_true(a[0]) || surely_true(a[1]), surely_false(a[0]) && surely_false(a[1]));
}
Element logical_xor(Operands a) {
  auto x = a[0].as_int(), y = a[1].as_int();
  return x && y ? Element::integer((*x != 0) != (*y != 0)) : Element();
}
Element logical_not(Operands a) {
  const dim::Dim holds = a[0].as_dim();
  return holds.is_symbolic() ? Element::integer(1 - holds) : truth(surely_false(a[0]), surely_true(a[0]));
}

Element choose(Operands a) {
  if (surely_true(a[0])) return a[1];
  if (surely_false(a[0])) return a[2];
  return same(a[1], a[2]) ? a[1] : Element();
}

Element bit_and(Operands a) {
  auto x = a[0].as_int(), y = a[1].as_int();
  return x && y ? Element::integer(*x & *y) : Element();
}
Element bit_or(Operands a) {
  auto x = a[0].as_int(), y = a[1].as_int();
  return x && y ? Element::integer(*x | *y) : Element();
}
Element bit_xor(Operands a) {
  auto x = a[0].as_int(), y = a[1].as_int();
  return x && y ? Element::integer(*x ^ *y) : Element();
}
Element bit_not(Operands a) {
  auto x = a[0].as_int();
  return x ? Element::integer(~*x) : Element();
}

// Shifts are of unsigned numbers: a shift by k multiplies or divides by a power of two.
std::optional<int64_t> power_of_two(const Element& exponent) {
  auto k = exponent.as_int();
  if (!k || *k < 0 || *k > 62) return std::nullopt;
  return int64_t{1} << *k;
}
Element shift_left(Operands a) {
  auto factor = power_of_two(a[1]);
  return factor ? a[0] * Element::integer(*factor) : Element();
}
Element shift_right(Operands a) {
  auto factor = power_of_two(a[1]);
  return factor && at_least(a[0], 0) ? integer_div(a[0], Element::integer(*factor)) : Element();
}

// Results are bool; the operands of comparisons may have any type that is followed.
template <ElementFunction F>
void predicate(Context& ctx) {
  if (binary_shape(ctx, DataType::kBool)) set_elementwise_values(ctx, F);
}

void not_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, DataType::kBool);
  set_elementwise_values(ctx, logical_not);
}

void test_rule(Context& ctx) { shape_of_input(ctx, 0, 0, DataType::kBool); }

void where_rule(Context& ctx) {
  constexpr std::array kAll = {0, 1, 2};
  DataType dtype = ctx.input(1).dtype != DataType::kUndefined ? ctx.input(1).dtype : ctx.input(2).dtype;
  ctx.set_tensor(0, dtype, broadcast_inputs(ctx, kAll));
  if (ctx.num_inputs() == 3) set_elementwise_values(ctx, choose);
}

// Bitwise operators came with opset 18 and broadcast from the start.
template <ElementFunction F>
void bitwise(Context& ctx) {
  constexpr std::array kBoth = {0, 1};
  DataType dtype = first_dtype(ctx);
  ctx.set_tensor(0, dtype, broadcast_inputs(ctx, kBoth));
  if (ctx.num_inputs() == 2) set_typed_values<F>(ctx, dtype);
}

void bit_not_rule(Context& ctx) {
  shape_of_input(ctx, 0, 0, ctx.input(0).dtype);
  DataType dtype = ctx.input(0).dtype;
  // The complement of an unsigned number depends on its width; only signed ones are followed.
  if (dtype == DataType::kInt64 || dtype == DataType::kInt32) set_elementwise_values(ctx, bit_not);
}

void bit_shift_rule(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (!binary_shape(ctx, dtype)) return;
  std::string_view direction = ctx.attr_string("direction", "");
  if (direction == "LEFT") set_typed_values<shift_left>(ctx, dtype);
  if (direction == "RIGHT") set_typed_values<shift_right>(ctx, dtype);
}

}  // namespace

void add_logical_ops(Registry& r) {
  using enum Role;
  const auto add_op = [&r](Operator op) {
    op.op_class = OpClass::kElementwise;
    op.evaluation = Evaluation::kByRule;
    r.add(std::move(op));
  };
  add_op({.name = "Equal", .shape = predicate<equal>, .commutes = true, .saturates = true});
  add_op({.name = "Less", .shape = predicate<less>, .saturates = true});
  add_op({.name = "Greater", .shape = predicate<greater>, .saturates = true});
  add_op({.name = "LessOrEqual", .shape = predicate<less_or_equal>, .saturates = true});
  add_op({.name = "GreaterOrEqual", .shape = predicate<greater_or_equal>, .saturates = true});
  add_op({.name = "And", .shape = predicate<logical_and>, .commutes = true});
  add_op({.name = "Or", .shape = predicate<logical_or>, .commutes = true});
  add_op({.name = "Xor", .shape = predicate<logical_xor>, .commutes = true});
  add_op({.name = "Not", .shape = not_rule});
  add_op({.name = "BitwiseAnd", .shape = bitwise<bit_and>, .commutes = true});
  add_op({.name = "BitwiseOr", .shape = bitwise<bit_or>, .commutes = true});
  add_op({.name = "BitwiseXor", .shape = bitwise<bit_xor>, .commutes = true});
  add_op({.name = "BitwiseNot", .shape = bit_not_rule});
  add_op({.name = "BitShift", .shape = bit_shift_rule});
  add_op({.name = "Where", .shape = where_rule, .range = range_moved, .operands = {kCondition, kData}});
  r.add({.name = "IsNaN", .shape = test_rule, .op_class = OpClass::kElementwise});
  r.add({.name = "IsInf", .shape = test_rule, .op_class = OpClass::kElementwise, .saturates = true});
}

}  // namespace thaw::ops
