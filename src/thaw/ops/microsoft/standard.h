// What operators of com.microsoft stand for in ONNX's own: the `standard` rules of their entries.
//
// Each follows the operator's definition in ONNX Runtime's docs/ContribOperators.md and what its CPU kernel does, where it has
// one. A rule throws NoEqual where an attribute or operand means what no operator of ai.onnx says.
#pragma once

#include <string_view>

#include "thaw/ops/rule/adapter.h"

namespace thaw::ops {

// Activations.
void standard_gelu(AdapterContext& n);        // also BiasGelu: a bias is added first
void standard_fast_gelu(AdapterContext& n);   // by tanh
void standard_quick_gelu(AdapterContext& n);  // x sigmoid(alpha x)
void standard_bias_add(AdapterContext& n);
void standard_bias_split_gelu(AdapterContext& n);

// Products and convolutions.
void standard_fused_matmul(AdapterContext& n);
void standard_fused_gemm(AdapterContext& n);
void standard_gemm_fast_gelu(AdapterContext& n);
void standard_fused_conv(AdapterContext& n);

// Norms and embeddings.
void standard_skip_layer_norm(AdapterContext& n);
void standard_skip_rms_norm(AdapterContext& n);
void standard_simplified_layer_norm(AdapterContext& n);
void standard_embed_layer_norm(AdapterContext& n);
void standard_rotary_embedding(AdapterContext& n);

// Quantized: what is between DequantizeLinear and QuantizeLinear, or integers and a factor.
void standard_quantize(AdapterContext& n);  // QuantizeLinear and DequantizeLinear
void standard_qlinear_elementwise(AdapterContext& n);
void standard_qlinear_where(AdapterContext& n);
void standard_qlinear_pool(AdapterContext& n);
void standard_qlinear_concat(AdapterContext& n);
void standard_integer_product(AdapterContext& n);  // MatMulIntegerToFloat

// Operators that the standard has by now, or has under another name.
void standard_trilu(AdapterContext& n);
void standard_pad(AdapterContext& n);
void standard_expand_dims(AdapterContext& n);
void standard_grid_sample(AdapterContext& n);
void standard_distances(AdapterContext& n);  // CDist

// Gelu as the opset has it: the operator, or what it stands for.
ir::Value* write_gelu(const Emit& at, ir::Value* x, ir::DataType type, bool by_tanh);

// The floating-point type of an operand; NoEqual where it is none, or is not known.
ir::DataType floating_type(const AdapterContext& n, int operand);

}  // namespace thaw::ops
