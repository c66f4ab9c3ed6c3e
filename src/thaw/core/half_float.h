// Rows of float16 and bfloat16 numbers as floats and back, as many at once as the processor takes.
//
// The bytes may lie at any address. What one number comes to, small_float.h says.
#pragma once

#include <cstddef>
#include <span>

namespace thaw {

// `from` holds to.size() numbers.
void widen_float16(const std::byte* from, std::span<float> to);
void widen_bfloat16(const std::byte* from, std::span<float> to);

// Rounded to the nearest, ties to even. Returns false if a finite number became infinite.
bool narrow_to_float16(std::span<const float> from, std::byte* to);
bool narrow_to_bfloat16(std::span<const float> from, std::byte* to);

}  // namespace thaw
