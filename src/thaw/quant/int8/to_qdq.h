// Static INT8: weights as codes behind DequantizeLinear, and activations through pairs of QuantizeLinear and DequantizeLinear
// with scales that were measured. ONNX Runtime makes kernels of 8 bits of such groups; anyone else can run them as they are.
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/calibration.h"
#include "thaw/quant/int8/request.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::int8 {

// Of the nodes that `wanted` gives options which are not dynamic. The model must have opset 13 or newer. Changes: by node, with
// the kind "int8"; left: what was to be converted and could not be. Throws thaw::Error for tensors and weights with a NaN or an
// infinity; the model is then as it was.
void to_qdq(ir::Model& model, const Wanted& wanted, const Samples& samples, rewrite::Changes& changes);

// The oldest opset with a scale for each channel.
inline constexpr int64_t kOpsetOfChannels = 13;

}  // namespace thaw::quantizing::int8
