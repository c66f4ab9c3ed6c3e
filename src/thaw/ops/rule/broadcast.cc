#include "thaw/ops/rule/broadcast.h"

#include <algorithm>
#include <array>
#include <string>

namespace thaw::ops {

using dim::Dim;

namespace {

At axis_of(At first, size_t k) { return first.input < 0 ? At{} : At{first.input, first.axis + static_cast<int>(k)}; }

// Opsets 1 to 6: the output is A's; B has A's shape, one element, or with `broadcast` a run of A's axes from `axis`
// (the last ones when it is not given).
bool legacy_binary_shape(Context& ctx, ir::DataType dtype) {
  const Fact &a = ctx.input(0), &b = ctx.input(1);
  if (ctx.attr_int("broadcast", 0) == 0) {
    ctx.set_tensor(0, dtype, require_same_shape(ctx, a.shape, b.shape, "sizes of the operands"));
    return true;
  }
  ctx.set_tensor(0, dtype, a.shape);
  if (!a.has_rank() || !b.has_rank()) return false;
  if (b.num_elements().is_constant(1)) return true;
  if (b.rank() > a.rank()) {
    ctx.invalid("the second operand has more axes than the first");
    return false;
  }
  int start = a.rank() - b.rank();
  int64_t axis = ctx.attr_int("axis", start);
  if (axis < 0) axis += a.rank();
  if (axis < 0 || axis > start) {
    ctx.invalid("axis " + std::to_string(axis) + " leaves no room for the second operand's " +
                std::to_string(b.rank()) + " axes");
    return false;
  }
  for (int k = 0; k < b.rank(); ++k) {
    int at = static_cast<int>(axis) + k;
    ctx.require_broadcast(a.dim(at), b.dim(k), "broadcast sizes", {0, at}, {1, k});
  }
  return axis == start;
}

}  // namespace

ir::DataType first_dtype(Context& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.input(i).dtype != ir::DataType::kUndefined) return ctx.input(i).dtype;
  return ir::DataType::kUndefined;
}

bool binary_shape(Context& ctx, ir::DataType dtype) {
  if (ctx.num_inputs() != 2) {
    ctx.invalid("needs two operands, not " + std::to_string(ctx.num_inputs()));
    return false;
  }
  if (ctx.opset() < 7) return legacy_binary_shape(ctx, dtype);
  constexpr std::array kBoth = {0, 1};
  ctx.set_tensor(0, dtype, broadcast_inputs(ctx, kBoth));
  return true;
}

Shape broadcast_shapes(Context& ctx, const Shape& a, const Shape& b, std::string_view what, At first_a, At first_b) {
  size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t k = 0; k < rank; ++k) {
    size_t skip_a = rank - a.size(), skip_b = rank - b.size();
    if (k < skip_a)
      out[k] = b[k - skip_b];
    else if (k < skip_b)
      out[k] = a[k - skip_a];
    else
      out[k] = ctx.require_broadcast(a[k - skip_a], b[k - skip_b], what, axis_of(first_a, k - skip_a),
                                     axis_of(first_b, k - skip_b));
  }
  return out;
}

void require_one_or(Context& ctx, Dim size, Dim whole, std::string_view what, At at_size, At at_whole) {
  if (size.is_constant(1)) return;
  if (whole.is_constant(1)) {
    ctx.require_equal(whole, size, what, at_whole, at_size);
    return;
  }
  ctx.require_broadcast(whole, size, what, at_whole, at_size);
  // Two sizes also go together where the whole is 1.
  if (!whole.is_constant()) ctx.require_at_most(size, whole, what, at_size, at_whole);
}

void require_broadcasts_to(Context& ctx, int input, const Shape& shape, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (!fact.has_rank()) return;
  int extra = fact.rank() - static_cast<int>(shape.size());
  if (extra > 0) {
    ctx.invalid("input " + std::to_string(input) + " has rank " + std::to_string(fact.rank()) + ", more than the " +
                std::to_string(shape.size()) + " axes it is broadcast to (" + std::string(what) + ")");
    return;
  }
  for (int k = 0; k < fact.rank(); ++k) {
    require_one_or(ctx, fact.dim(k), shape[static_cast<size_t>(k - extra)], what, {input, k});
  }
}

}  // namespace thaw::ops
