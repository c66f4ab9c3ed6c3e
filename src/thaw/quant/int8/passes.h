// The passes that make a model INT8: each is in the file of its name. Their order is in quant/convert.cc.
//
// A pass returns how much it did.
#pragma once

#include <utility>

#include "thaw/ops/target/target.h"
#include "thaw/quant/int8/chosen.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing::int8 {

struct Context : rewrite::PassContext {
  Context(ir::Model& changed, Wanted nodes, const ops::Target& runs_on, const Samples* data)
      : PassContext(changed), wanted(std::move(nodes)), target(runs_on), samples(data) {}

  const Wanted wanted;
  const ops::Target& target;
  const Samples* const samples;  // null where there is no data, which static INT8 needs
};

using Pass = rewrite::PassOn<Context>;

// The oldest opset with a scale for each channel, which all of them need.
inline constexpr int64_t kOpsetOfChannels = 13;

// --- Static: scales of activations are measured on samples. In float32 until the last: the model computes the same up to rounding ---

// Cross-layer equalization (Nagel et al. 2019): between two convolutions with nothing but what keeps positive factors in between,
// channels are scaled so that both weights span them alike. For chains of convolutions whose options have `equalize`.
int equalize(Context& context);

// SmoothQuant (Xiao et al. 2022): what a product reads is divided, position by position along the axis that is summed over, and its
// weights are multiplied, so that outliers of activations become a part of weights, which have scales of their own.
// For the MatMuls and Gemms whose options have smooth > 0: s = max|x|^alpha / max|w|^(1 - alpha), one for all that read x, and for
// all that w is read with. The division goes into the norm or Mul before, where nothing else reads it, else into a Mul. A weight
// that would be stored twice, as something to be converted reads it that cannot be scaled, is left: changes.left has its products
// with the kind "smooth".
int smooth(Context& context);

// Bias correction (Nagel et al. 2019): rounding weights shifts the mean of what they make by (rounded - weight) * mean input;
// biases take it back. For the products and convolutions whose options have `correct_bias`. Where there is no bias, one is added.
// Padding of convolutions counts as the mean.
int correct_bias(Context& context);

// Weights as codes behind DequantizeLinear, and activations through pairs of QuantizeLinear and DequantizeLinear with scales that
// were measured. ONNX Runtime makes kernels of 8 bits of such groups; anyone else can run them as they are. Of the nodes whose
// options are not dynamic. Changes: by node, with the kind "int8"; left: what was to be converted and could not be. Throws
// thaw::Error for tensors and weights with a NaN or an infinity; the model is then as it was.
int to_qdq(Context& context);

// --- Dynamic: activations are quantized by what they hold at each run, and products are of integers ---

//   x -> DynamicQuantizeLinear -> MatMulInteger or ConvInteger -> Cast -> Mul by both scales -> Add of the bias
//
// Of the nodes whose options are dynamic. Weights of what has no such form are kept as codes alone: those of GRU and RNN, and of
// LSTM where the target has no DynamicQuantizeLSTM. Throws thaw::Error for a weight with a NaN or an infinity; the model
// is then as it was.
int to_dynamic(Context& context);

}  // namespace thaw::quantizing::int8
