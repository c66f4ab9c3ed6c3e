// Heads that stand after the positions in memory: [batch, positions, heads, width] behind [batch, heads, positions, width].
#pragma once

#include "thaw/optimize/attention/shaped.h"

namespace thaw::optimizing {

// Whether x is a Transpose, one with an axis before it, or a part of one that holds q, k and v.
bool has_positions_first(const Shaped& x);
// [batch, positions, heads, width] of [batch, heads, positions, width], a Transpose of it where nothing is nearer.
ir::Value* with_positions_first(const ops::Emit& at, const Shaped& x);

}  // namespace thaw::optimizing
