// What a Reshape's target means for a given input shape, and the target that means given shapes: -1, 0, and sizes that
// only the run tells.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// The shape that `data` has after reshaping to `target`, stating that the element counts agree. An unknown entry of the
// target is one that may be anything, -1 and 0 included. nullopt (and ctx.invalid) for a target that no input fits.
std::optional<Shape> resolve_reshape(Context& ctx, const Fact& data, std::span<const dim::Dim> target, bool allowzero);

// A target of plain numbers that makes `out` of `in`: 0 where an axis keeps its position, and -1 for at most one size that
// is left over where the others decide it. `literal` has the sizes that may be written as numbers, unknown ones for
// those that may not. nullopt where there is none.
std::optional<std::vector<int64_t>> reshape_target(const Shape& in, const Shape& out,
                                                   std::span<const dim::Dim> literal);

}  // namespace thaw::ops
