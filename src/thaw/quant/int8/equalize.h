// Cross-layer equalization (Nagel et al. 2019): between two convolutions with nothing but what keeps positive factors in
// between, channels are scaled so that both weights span them alike. What the model computes stays the same up to rounding.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/request.h"

namespace thaw::quantizing::int8 {

// For chains of convolutions whose options have `equalize`. Returns how many pairs were evened out.
int equalize(ir::Model& model, const Wanted& wanted);

}  // namespace thaw::quantizing::int8
