// Dynamic INT8: activations are quantized by what they hold at each run, and products are of integers.
//
//   x -> DynamicQuantizeLinear -> MatMulInteger or ConvInteger -> Cast -> Mul by both scales -> Add of the bias
#pragma once

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/request.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::int8 {

// Of the nodes that `wanted` gives options which are dynamic. Weights of what has no such form are kept as codes alone: those of
// GRU and RNN, and of LSTM but for `target` ort, which has DynamicQuantizeLSTM. Throws thaw::Error for a weight with a NaN or an
// infinity; the model is then as it was. `known`: where what becomes of weights is remembered; may be null.
void to_dynamic(ir::Model& model, const Wanted& wanted, OptimizeTarget target, Remembered* known,
                rewrite::Changes& changes);

}  // namespace thaw::quantizing::int8
