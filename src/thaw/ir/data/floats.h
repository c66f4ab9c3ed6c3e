// Rows of floating-point numbers between the types of checkpoints, models and arrays.
#pragma once

#include <cstddef>
#include <span>

#include "thaw/ir/data/types.h"

namespace thaw::ir {

// `bytes` holds to.size() numbers of the type kFloat, kFloat16 or kBfloat16.
void to_floats(DataType type, const std::byte* bytes, std::span<float> to);
void to_doubles(DataType type, const std::byte* bytes, std::span<double> to);

// The inverse, rounded to nearest even. Returns false if a finite number became infinite.
bool from_floats(std::span<const float> from, DataType type, std::byte* bytes);

}  // namespace thaw::ir
