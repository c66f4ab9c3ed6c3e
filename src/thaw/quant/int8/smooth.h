// SmoothQuant (Xiao et al. 2022): what a product reads is divided, place by place along the axis that is summed over, and its
// weights are multiplied, so that outliers of activations become a part of weights, which have scales of their own.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/request.h"

namespace thaw::quantizing::int8 {

// For the MatMuls and Gemms whose options have smooth > 0: s = max|x|^alpha / max|w|^(1 - alpha), one for all that read x. The
// division goes into the norm or Mul before, where nothing else reads it, else into a Mul. The numbers that the model computes
// stay the same up to rounding.
void smooth(ir::Model& model, const Wanted& wanted, const Samples& samples);

}  // namespace thaw::quantizing::int8
