// Numbers as 8-bit codes: number = scale * (code - zero point).
#pragma once

#include <cstdint>

#include "thaw/convert.h"
#include "thaw/ir/data/types.h"

namespace thaw::quantizing::int8 {

// The codes that are used of a type.
struct Codes {
  ir::DataType type = ir::DataType::kUint8;  // or kInt8
  int lowest = 0, highest = 255;
};

struct Affine {
  float scale = 1;
  int zero = 0;  // the code of 0, which is always exact
};

struct Range {
  double lowest = 0, highest = 0;
};

// Codes of activations. Symmetric ones leave the lowest code out, so that as many stand on both sides of the middle.
Codes activation_codes(const Int8Options& options);
// Of weights; a reduced range has 7 bits: a sum of two products with 8-bit activations then fits 16 bits.
Codes weight_codes(const Int8Options& options);

// Scale and zero point with which the codes span the range, widened to hold 0. Symmetric: 0 is the middle code. A range
// without anything but 0 has the scale 1.
Affine affine_of(Range range, const Codes& codes, bool symmetric);

// The nearest code, ties to even as QuantizeLinear does; what the codes do not reach is cut off.
int code_of(float number, const Affine& affine, const Codes& codes);
inline float number_of(int code, const Affine& affine) { return affine.scale * static_cast<float>(code - affine.zero); }

}  // namespace thaw::quantizing::int8
