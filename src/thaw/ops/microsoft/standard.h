// What operators of com.microsoft stand for in ONNX's own: the `standard` rules of their entries.
//
// Each follows the operator's definition in ONNX Runtime's docs/ContribOperators.md and what its CPU kernel does, where it has
// one. A rule throws NoEqual where an attribute or operand means what no operator of ai.onnx says.
#pragma once

#include <string_view>

#include "thaw/ops/rule/rewording.h"

namespace thaw::ops {

// Activations.
void standard_gelu(Rewording& n);        // also BiasGelu: a bias is added first
void standard_fast_gelu(Rewording& n);   // by tanh
void standard_quick_gelu(Rewording& n);  // x sigmoid(alpha x)
void standard_bias_add(Rewording& n);
void standard_bias_split_gelu(Rewording& n);

// Products and convolutions.
void standard_fused_matmul(Rewording& n);
void standard_fused_gemm(Rewording& n);
void standard_gemm_fast_gelu(Rewording& n);
void standard_fused_conv(Rewording& n);

// Norms and embeddings.
void standard_skip_layer_norm(Rewording& n);
void standard_skip_rms_norm(Rewording& n);
void standard_simplified_layer_norm(Rewording& n);
void standard_embed_layer_norm(Rewording& n);
void standard_rotary_embedding(Rewording& n);

// Quantized: what is between DequantizeLinear and QuantizeLinear, or integers and a factor.
void standard_quantize(Rewording& n);  // QuantizeLinear and DequantizeLinear
void standard_qlinear_elementwise(Rewording& n);
void standard_qlinear_where(Rewording& n);
void standard_qlinear_pool(Rewording& n);
void standard_qlinear_concat(Rewording& n);
void standard_integer_product(Rewording& n);  // MatMulIntegerToFloat

// Operators that the standard has by now, or has under another name.
void standard_trilu(Rewording& n);
void standard_pad(Rewording& n);
void standard_expand_dims(Rewording& n);
void standard_grid_sample(Rewording& n);
void standard_distances(Rewording& n);  // CDist

// Gelu as the opset has it: the operator, or what it stands for.
ir::Value* write_gelu(const Emit& at, ir::Value* x, ir::DataType type, bool by_tanh);

// The floating-point type of an operand; NoEqual where it is none, or is not known.
ir::DataType floating_type(const Rewording& n, int operand);

}  // namespace thaw::ops
