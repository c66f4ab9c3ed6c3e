// SmoothQuant (Xiao et al. 2022): what a product reads is divided, place by place along the axis that is summed over, and its
// weights are multiplied, so that outliers of activations become a part of weights, which have scales of their own.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/request.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::int8 {

// For the MatMuls and Gemms whose options have smooth > 0: s = max|x|^alpha / max|w|^(1 - alpha), one for all that read x, and for
// all that w is read with. The division goes into the norm or Mul before, where nothing else reads it, else into a Mul. The
// numbers that the model computes stay the same up to rounding. A weight that would be stored twice, as something to be
// converted reads it that cannot be scaled, is left: changes.left has its products with the kind "smooth".
void smooth(ir::Model& model, const Wanted& wanted, const Samples& samples, rewrite::Changes& changes);

}  // namespace thaw::quantizing::int8
