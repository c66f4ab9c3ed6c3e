// What a Reshape's target means for a given input shape: -1, 0, and sizes that only the run tells.
#pragma once

#include <optional>
#include <span>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// The shape that reshaping `data` to `target` gives, stating that the element counts agree. An unknown entry of the
// target is one that may be anything, -1 and 0 included. nullopt (and ctx.invalid) for a target that no input fits.
std::optional<Shape> resolve_reshape(Context& ctx, const Fact& data, std::span<const dim::Dim> target, bool allowzero);

}  // namespace thaw::ops
