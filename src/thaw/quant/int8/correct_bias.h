// Bias correction (Nagel et al. 2019): rounding weights shifts the mean of what they make by (rounded - weight) * mean input;
// biases take it back.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/request.h"

namespace thaw::quantizing::int8 {

// For the products and convolutions whose options have `correct_bias`, in the float32 model that is to be quantized. Where there
// is no bias, one is added. Padding of convolutions counts as the mean.
void correct_bias(ir::Model& model, const Wanted& wanted, const Samples& samples);

}  // namespace thaw::quantizing::int8
