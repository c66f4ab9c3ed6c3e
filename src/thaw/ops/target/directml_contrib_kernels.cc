// The same as directml_kernels.cc for the domains that are ONNX Runtime's own: com.microsoft, and com.microsoft.dml,
// whose operators the execution provider writes itself when it fuses an activation into the node before it.
#include "thaw/ops/target/kernel_types.h"
#include "thaw/ops/target/target.h"

namespace thaw::ops {

std::span<const Kernels> directml_microsoft_kernels() {
  using namespace kernel_types;  // NOLINT(google-build-using-namespace): the words of the table
  // clang-format off
  static constexpr Kernels kKernels[] = {
    {"Attention", {1}, {{{"M", kInt32}, {"T", kFloats}}}},
    {"BiasAdd", {1}, {{{"T", kFloats}}}},
    {"BiasGelu", {1}, {{{"T", kFloats}}}},
    {"BiasSplitGelu", {1}, {{{"T", kFloats}}}},
    {"ConvTransposeWithDynamicPads", {1}, {{{"T", kFloats}}}},
    {"DequantizeLinear", {1}, {{{"T1", kBytes | kInt32}, {"T2", kFloats}}}},
    {"DynamicQuantizeMatMul", {1}, {{{"T1", kFloat}, {"T2", kBytes}}}},
    {"EmbedLayerNormalization", {1}, {{{"T", kFloats}}}},
    {"FastGelu", {1}, {{{"T", kFloats}}}},
    {"FusedMatMul", {1}, {{{"T", kFloats}}}},
    {"FusedMatMulActivation", {1}, {{{"T", kFloats}}}},
    {"Gelu", {1}, {{{"T", kFloats}}}},
    {"GroupNorm", {1}, {{{"M", kFloats}, {"T", kFloats}}}},
    {"GroupQueryAttention", {1}, {{{"M", kInt32}, {"T", kFloats}}}},
    {"MatMulIntegerToFloat", {1}, {{{"T1", kBytes}, {"T2", kBytes}, {"T3", kFloats}}}},
    {"MatMulNBits", {1}, {{{"T1", kFloats}, {"T2", kUint8}}}},
    {"MultiHeadAttention", {1}, {{{"M", kInt32}, {"T", kFloats}}}},
    {"NhwcConv", {1}, {{{"T", kFloats}}}},
    {"QAttention", {1}, {{{"T1", kBytes}, {"T2", kBytes}, {"T3", kFloats}, {"T4", kInt32}}}},
    {"QLinearAdd", {1}, {{{"T", kBytes}}}},
    {"QLinearAveragePool", {1}, {{{"T", kBytes}}}},
    {"QLinearConcat", {1}, {{{"T8", kBytes}, {"TF", kFloat}, {"TV", kFloat | kBytes}}}},
    {"QLinearGlobalAveragePool", {1}, {{{"T", kBytes}}}},
    {"QLinearSigmoid", {1}, {{{"T", kBytes}}}},
    {"QuantizeLinear", {1}, {{{"T1", kFloats | kInt32}, {"T2", kBytes}}}},
    {"QuickGelu", {1}, {{{"T", kFloats}}}},
    {"RotaryEmbedding", {1}, {{{"M", kInt64}, {"T", kFloats}}}},
    {"SkipLayerNormalization", {1}, {{{"T", kFloats}}}},
    {"SkipSimplifiedLayerNormalization", {1}, {{{"T", kFloats}}}},
  };
  // clang-format on
  return kKernels;
}

std::span<const Kernels> directml_fused_kernels() {
  using namespace kernel_types;  // NOLINT(google-build-using-namespace): the words of the table
  // clang-format off
  static constexpr Kernels kKernels[] = {
    {"DmlFusedAdd", {1}, {{{"T", kFloats}}}},
    {"DmlFusedBatchNormalization", {1}, {{{"T", kFloats}}}},
    {"DmlFusedConv", {1}, {{{"T", kFloats}}}},
    {"DmlFusedConvTranspose", {1}, {{{"T", kFloats}}}},
    {"DmlFusedGemm", {1}, {{{"T", kFloats}}}},
    {"DmlFusedInstanceNormalization", {1}, {{{"T", kFloats}}}},
    {"DmlFusedMatMul", {1}, {{{"T", kFloats}}}},
    {"DmlFusedMeanVarianceNormalization", {1}, {{{"T", kFloats}}}},
    {"DmlFusedSum", {1}, {{{"T", kFloats}}}},
  };
  // clang-format on
  return kKernels;
}

}  // namespace thaw::ops
