// A Resize up to whole pieces: MobileViT's patches, which cover a side that no patch divides by making it larger.
#pragma once

#include <cstdint>
#include <span>

#include "thaw/lift/solve/solve.h"
#include "thaw/ops/rule/context.h"

namespace thaw::lifting {

// Where a side is rounded up to whole pieces, one that every trace has whole is too, if it is cut into pieces as long: else
// what cuts it would not take another size. sizes: what the Resize makes. axes: of its data. pieces: by axis; or 0.
void keep_whole_pieces(ops::Shape& sizes, std::span<const Variable> axes, std::span<const int64_t> pieces);

}  // namespace thaw::lifting
