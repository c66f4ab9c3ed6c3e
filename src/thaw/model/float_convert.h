// Rows of floating-point numbers between the types of checkpoints and models. Internal to model/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "thaw/ir/data/types.h"

namespace thaw::model {

// `bytes` holds to.size() numbers of the type kFloat, kFloat16 or kBfloat16.
void to_floats(ir::DataType type, const std::byte* bytes, std::span<float> to);

// The inverse, rounded to nearest even. Returns false if a finite number became infinite.
bool from_floats(std::span<const float> from, ir::DataType type, std::byte* bytes);

}  // namespace thaw::model
