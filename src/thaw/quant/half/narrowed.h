// Constants of float32 as constants of 16 bits, converted when the model is written.
#pragma once

#include <string>

#include "thaw/ir/data/tensor.h"

namespace thaw::quantizing {

// What stands for finite numbers that the type does not have.
struct Saturation {
  double lowest = 0, highest = 0;
};

// The same elements rounded to the nearest number of `to`, ties to even; those below and above are the saturation's.
// Small tensors are converted at once, the others a chunk at a time whenever their bytes are asked for.
ir::Tensor narrowed(const ir::Tensor& tensor, std::string name, ir::DataType to, Saturation limits);

}  // namespace thaw::quantizing
