// What becomes of a constant's numbers in 16 bits.
#pragma once

#include <cstdint>

#include "thaw/ir/data/tensor.h"

namespace thaw::quantizing {

struct WeightRange {
  uint64_t elements = 0;
  double largest = 0;      // magnitude of the finite ones
  uint64_t too_large = 0;  // finite, and infinite in the type
  uint64_t vanish = 0;     // not 0, and 0 in the type
  uint64_t infinite = 0, nan = 0;
  uint64_t negative = 0, positive = 0;
};

// Reads the tensor, of float32, once, on all processors; pages of a mapped file are given back as it goes on.
// `to` is kFloat16 or kBfloat16.
WeightRange range_of(const ir::Tensor& tensor, ir::DataType to);

}  // namespace thaw::quantizing
