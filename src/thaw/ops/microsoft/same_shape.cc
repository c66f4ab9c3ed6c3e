#include "thaw/ops/microsoft/same_shape.h"

#include "thaw/ops/rule/broadcast.h"

namespace thaw::ops {

void keep_shape_with(Context& ctx, std::initializer_list<int> others, std::string_view what) {
  keep_shape(ctx);
  if (!ctx.input(0).has_rank()) return;
  for (int i : others)
    if (ctx.has_input(i)) require_broadcasts_to(ctx, i, *ctx.input(0).shape, what);
}

std::optional<Shape> with_last(const Fact& x, dim::Dim last) {
  if (!x.has_rank() || x.rank() == 0) return std::nullopt;
  Shape shape = *x.shape;
  shape.back() = last;
  return shape;
}

}  // namespace thaw::ops
