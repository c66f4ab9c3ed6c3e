// What an operator needs of the numbers in its operands for a node to run: indices within their axis, divisors that are not 0, steps,
// axes, lengths (Operator::needs). `check --sizes` asks; what is not known to hold is open, and never counted as proven.
//
// Nothing is asked of what is only computed with: an entry whose operands hold nothing else has nothing to say, but where it is
// neither elementwise, nor moves, reduces or multiplies, and reads integers. What sizes are made of and what names positions is open until the
// entry has said what it needs.
#pragma once

#include <string_view>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

struct Operator;

// After the shape rule: what the node needs of values, and between what its integers lie.
void state_values(const Operator& op, Context& ctx);

// NeedsRules.
void needs_nothing(
    Context& ctx);  // whatever its operands hold, or its shape rule has stated it of constants and attributes
void needs_sizes(Context& ctx);    // operands that hold sizes are known: what must hold of these, its shape rule states
void needs_an_axis(Context& ctx);  // so are axes; one that is not a constant is an axis of the first operand
template <int... kOperands>
void needs_known(Context& ctx);  // those operands are, whatever their roles
template <int... kOperands>
void needs_constant(Context& ctx);  // they are constants, which the shape rule looks at

// States that every element of an operand is at least `lowest`, at most `highest` (unknown: open).
void need_between(Context& ctx, int input, dim::Dim lowest, dim::Dim highest, std::string_view what);
void need_at_least(Context& ctx, int input, int64_t lowest, std::string_view what);
// That it names a position on an axis of that size, counted from either end.
void need_index(Context& ctx, int input, dim::Dim size, std::string_view what);
// That its rows name elements of operand 0: numbers along its axes from `first` on (GatherND, ScatterND).
void need_coordinates(Context& ctx, int input, int64_t first);
// That it is not 0.
void need_nonzero(Context& ctx, int input, std::string_view what);
// That every element is known, as an expression at least.
void need_known(Context& ctx, int input, std::string_view what);
// That an operand of axes holds constants, or one axis of the tensors of that rank.
void need_axis(Context& ctx, int input, int rank, std::string_view what);

template <int... kOperands>
void needs_known(Context& ctx) {
  (need_known(ctx, kOperands, "numbers that decide what runs"), ...);
}

template <int... kOperands>
void needs_constant(Context& ctx) {
  const auto need = [&](int i) {
    if (ctx.has_input(i) && !ctx.ints(i)) ctx.leave_open("numbers that are constants", i);
  };
  (need(kOperands), ...);
}

}  // namespace thaw::ops
