#include "thaw/ops/rule/size_help.h"

#include "thaw/dim/expr/scope.h"

namespace thaw::ops {

using dim::Dim;

bool at_least(Dim d, int64_t bound) {
  if (d.is_unknown()) return false;
  if (auto v = d.constant()) return *v >= bound;
  auto lower = dim::range_of(d).lower;
  return lower && *lower >= bound;
}

bool at_most(Dim d, int64_t bound) {
  if (d.is_unknown()) return false;
  if (auto v = d.constant()) return *v <= bound;
  auto upper = dim::range_of(d).upper;
  return upper && *upper <= bound;
}

Dim divide_evenly(Context& ctx, Dim a, Dim b, std::string_view what, At at_a, At at_b) {
  if (a.is_unknown() || b.is_unknown() || b.is_constant(0)) return {};
  if (auto exact = dim::exact_div(a, b)) return *exact;
  ctx.require_divisible(a, b, what, at_a, at_b);
  return dim::floor_div(a, b);
}

void unknown_tensor(Context& ctx, int o, ir::DataType dtype) { ctx.set_tensor(o, dtype, std::nullopt); }

void unknown_tensors(Context& ctx, int first, ir::DataType dtype) {
  for (int o = first; o < ctx.num_outputs(); ++o)
    if (ctx.wants_output(o)) unknown_tensor(ctx, o, dtype);
}

}  // namespace thaw::ops
