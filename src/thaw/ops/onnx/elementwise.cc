// Arithmetic, element by element: Add … Pow, Min … Mean, rounding, trigonometry, Clip. Before opset 7 (8 for the
// variadic ones) operands did not broadcast to each other: the output has the first one's shape.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/broadcast.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/scale.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using ir::DataType;

namespace {

Element add(Operands a) { return a[0] + a[1]; }
Element subtract(Operands a) { return a[0] - a[1]; }
Element multiply(Operands a) { return a[0] * a[1]; }

// In float32, 0.3 times a size is three tenths of it.
Element multiply_floats(Operands a) {
  if (a[0].as_double() && a[1].as_double()) return multiply(a);
  return as_fraction(a[0]) * as_fraction(a[1]);
}

Element divide(Operands a) { return a[1].as_double() == 0.0 ? Element() : a[0] / a[1]; }
Element divide_integers(Operands a) { return integer_div(a[0], a[1]); }
Element mod_floor(Operands a) { return modulo(a[0], a[1]); }
// ONNX Runtime computes both of these in float64.
Element mod_truncate(Operands a) {
  return std::ranges::any_of(a, is_beyond_float64) ? Element() : remainder(a[0], a[1]);
}

Element power(Operands a) {
  auto exponent = a[1].as_double();
  if (!exponent) return {};
  if (*exponent == 0) return Element::integer(1);
  if (*exponent == 1) return a[0];
  if (*exponent == 2) {
    const Element square = a[0] * a[0];
    return is_beyond_float64(square) ? Element() : square;
  }
  auto base = a[0].as_double();
  return base ? Element::real(std::pow(*base, *exponent)) : Element();
}

Element negate(Operands a) { return Element::integer(0) - a[0]; }
Element abs_value(Operands a) { return absolute(a[0]); }
Element floor_value(Operands a) { return floor(a[0]); }
Element ceil_value(Operands a) { return ceil(a[0]); }

Element round_value(Operands a) {
  if (a[0].as_dim().is_known()) return a[0];
  auto v = a[0].as_double();
  return v ? Element::real(std::nearbyint(*v)) : Element();  // halves to even, as the specification says
}

Element square_root(Operands a) {
  auto v = a[0].as_double();
  return v && *v >= 0 ? Element::real(std::sqrt(*v)) : Element();
}

Element reciprocal(Operands a) { return a[0].as_double() == 0.0 ? Element() : Element::integer(1) / a[0]; }

Element sign(Operands a) {
  Order o = compare(a[0], Element::integer(0));
  if (o.equal) return Element::integer(0);
  if (o.less || o.greater) return Element::integer(o.less ? -1 : 1);
  return {};
}

Element sum_of(Operands a) { return std::accumulate(a.begin() + 1, a.end(), a[0]); }
Element mean_of(Operands a) { return sum_of(a) / Element::integer(static_cast<int64_t>(a.size())); }

Element min_of(Operands a) {
  return std::accumulate(a.begin() + 1, a.end(), a[0],
                         [](const Element& x, const Element& y) { return minimum(x, y); });
}

Element max_of(Operands a) {
  return std::accumulate(a.begin() + 1, a.end(), a[0],
                         [](const Element& x, const Element& y) { return maximum(x, y); });
}

template <ElementFunction F>
void binary(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (binary_shape(ctx, dtype)) set_typed_values<F>(ctx, dtype);
}

void multiply_rule(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (!binary_shape(ctx, dtype)) return;
  if (dtype == DataType::kFloat)
    set_typed_values<multiply_floats>(ctx, dtype);
  else
    set_typed_values<multiply>(ctx, dtype);
}

void divide_rule(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (!binary_shape(ctx, dtype)) return;
  if (ir::is_integer(dtype))
    set_typed_values<divide_integers>(ctx, dtype);
  else
    set_typed_values<divide>(ctx, dtype);
}

void mod_rule(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (!binary_shape(ctx, dtype)) return;
  if (ctx.attr_int("fmod", 0) != 0)
    set_typed_values<mod_truncate>(ctx, dtype);
  else
    set_typed_values<mod_floor>(ctx, dtype);
}

// The base's type, whatever the exponent's.
void power_rule(Context& ctx) {
  DataType dtype = ctx.input(0).dtype;
  if (binary_shape(ctx, dtype)) set_typed_values<power>(ctx, dtype);
}

// Shape and type of input 0; nothing is known of the values.
void unary_shape(Context& ctx) { shape_of_input(ctx, 0, 0, ctx.input(0).dtype); }

template <ElementFunction F>
void unary(Context& ctx) {
  unary_shape(ctx);
  set_typed_values<F>(ctx, ctx.input(0).dtype);
}

template <ElementFunction F>
void variadic(Context& ctx) {
  DataType dtype = first_dtype(ctx);
  if (ctx.num_inputs() == 0) return ctx.invalid("needs at least one input");
  if (ctx.opset() < 8) {
    std::optional<Shape> shape = ctx.input(0).shape;
    for (int i = 1; i < ctx.num_inputs(); ++i)
      shape = require_same_shape(ctx, shape, ctx.input(i).shape, "sizes of the operands");
    ctx.set_tensor(0, dtype, std::move(shape));
  } else {
    std::vector<int> inputs(ctx.num_inputs());
    std::iota(inputs.begin(), inputs.end(), 0);
    ctx.set_tensor(0, dtype, broadcast_inputs(ctx, inputs));
  }
  set_typed_values<F>(ctx, dtype);
}

// Bounds are attributes before opset 11, optional scalar inputs since.
void clip_rule(Context& ctx) {
  unary_shape(ctx);
  for (int i = 1; i < ctx.num_inputs() && ctx.opset() >= 11; ++i) {
    const Fact& limit = ctx.input(i);
    // ONNX Runtime takes a list of one too.
    const auto count = limit.rank() == 1 ? limit.dim(0).constant() : std::nullopt;
    if (limit.rank() > 1 || (count && *count != 1))
      ctx.invalid(std::string("Clip's ") + (i == 1 ? "min" : "max") + " is no scalar");
  }
  DataType dtype = ctx.input(0).dtype;
  const Elements* list = ctx.elements(0);
  if (!list) return;
  Elements out = *list;
  auto bound = [&](int input, std::string_view name) -> std::optional<Element> {
    if (ctx.opset() < 11)
      return ctx.has_attribute(name) ? std::optional(Element::real(ctx.attr_float(name, 0))) : std::nullopt;
    if (!ctx.has_input(input)) return std::nullopt;
    const Elements* value = ctx.elements(input);
    return value && value->size() == 1 ? value->front() : Element();
  };
  if (auto low = bound(1, "min"))
    for (Element& e : out) e = fit(maximum(e, *low), dtype);
  if (auto high = bound(2, "max"))
    for (Element& e : out) e = fit(minimum(e, *high), dtype);
  ctx.set_elements(0, std::move(out));
}

// Integers are not divided by 0; of floats the quotient is infinite.
void needs_divisors(Context& ctx) {
  if (!ir::is_floating(ctx.input(1).dtype)) need_nonzero(ctx, 1, "a divisor that is not 0");
}

void batch_clip(BatchContext& n) {
  if (!n.is_batched(1) && !n.is_batched(2)) return n.keep_on(n.form_of(0));
  // Limits of a sample's own are no operand that Clip takes.
  const int rank = n.rank(0);
  ir::Value* y = n.leading(0);
  if (n.original(1)) y = n.emit("Max", {y, n.aligned(1, rank)});
  if (n.original(2)) y = n.emit("Min", {y, n.aligned(2, rank)});
  n.become(0, y, Form::kLeading);
}

}  // namespace

void add_elementwise_ops(Registry& r) {
  const auto add_op = [&r](Operator op) {
    op.op_class = OpClass::kElementwise;
    op.evaluation = Evaluation::kByRule;
    r.add(std::move(op));
  };
  add_op({.name = "Add", .shape = binary<add>, .range = range_of_sum, .commutes = true, .magnitude = magnitude_of_sum});
  add_op(
      {.name = "Sub", .shape = binary<subtract>, .range = range_of_difference, .magnitude = magnitude_of_difference});
  add_op({.name = "Mul",
          .shape = multiply_rule,
          .range = range_of_product,
          .commutes = true,
          .magnitude = magnitude_of_product});
  add_op({.name = "Div",
          .shape = divide_rule,
          .needs = needs_divisors,
          .range = range_of_quotient,
          .magnitude = magnitude_of_quotient,
          .counts_small = 1});
  add_op({.name = "Mod", .shape = mod_rule, .needs = needs_divisors, .range = range_of_modulo});
  add_op({.name = "Pow", .shape = power_rule, .widens = true, .magnitude = magnitude_of_power});
  add_op({.name = "Neg", .shape = unary<negate>, .range = range_negated, .magnitude = magnitude_negated});
  add_op({.name = "Abs", .shape = unary<abs_value>, .range = range_of_sizes, .magnitude = magnitude_not_negative});
  add_op({.name = "Floor", .shape = unary<floor_value>});
  add_op({.name = "Ceil", .shape = unary<ceil_value>});
  add_op({.name = "Round", .shape = unary<round_value>});
  add_op({.name = "Sqrt", .shape = unary<square_root>, .magnitude = magnitude_of_root});
  add_op({.name = "Reciprocal",
          .shape = unary<reciprocal>,
          .widens = true,
          .magnitude = magnitude_of_reciprocal,
          .counts_small = 0});
  add_op({.name = "Sign", .shape = unary<sign>, .saturates = true, .magnitude = magnitude_within_one});
  add_op({.name = "Sum", .shape = variadic<sum_of>, .commutes = true, .magnitude = magnitude_of_sum});
  add_op({.name = "Mean", .shape = variadic<mean_of>, .commutes = true, .magnitude = magnitude_of_sum});
  add_op({.name = "Min",
          .shape = variadic<min_of>,
          .range = range_of_lesser,
          .commutes = true,
          .saturates = true,
          .magnitude = magnitude_of_lesser});
  add_op({.name = "Max", .shape = variadic<max_of>, .range = range_of_greater, .commutes = true, .saturates = true});
  add_op({.name = "Clip",
          .shape = clip_rule,
          .needs = needs_nothing,
          .range = range_clipped,
          .operands = {Role::kData, Role::kSetting, Role::kSetting},
          .axes = axes_by("... -> ..."),
          .batch = batch_with(batch_clip),
          .saturates = true,
          .magnitude = magnitude_between});
  // Functions whose values are not followed.
  const auto add_function = [&r](Operator op) {
    op.shape = unary_shape;
    op.op_class = OpClass::kElementwise;
    r.add(std::move(op));
  };
  add_function({.name = "Exp", .widens = true, .saturates = true, .magnitude = magnitude_of_exponential});
  add_function({.name = "Log", .magnitude = magnitude_of_logarithm, .counts_small = 0});
  add_function({.name = "Erf", .saturates = true, .magnitude = magnitude_within_one});
  add_function({.name = "Sin", .magnitude = magnitude_within_one});
  add_function({.name = "Cos", .magnitude = magnitude_within_one});
  add_function({.name = "Tan"});
  add_function({.name = "Asin"});
  add_function({.name = "Acos"});
  add_function({.name = "Atan", .saturates = true});
  add_function({.name = "Sinh", .widens = true, .magnitude = magnitude_of_both_exponentials});
  add_function({.name = "Cosh", .widens = true, .magnitude = magnitude_of_both_exponentials});
  add_function({.name = "Asinh"});
  add_function({.name = "Acosh"});
  add_function({.name = "Atanh"});
}

}  // namespace thaw::ops
