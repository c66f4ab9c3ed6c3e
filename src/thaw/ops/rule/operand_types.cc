#include "thaw/ops/rule/operand_types.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

// A word an operand, in order: its type parameter, or "." for one whose type is fixed. "*" after the last word: it
// stands for all that follow.
struct OperandWords {
  std::string_view domain, op, inputs, outputs;
};

// The operators of ONNX Runtime that DirectML's table names (tables/directml.txt), and those of ai.onnx that the
// official schemas do not have, or not yet at the kernel's opset, after ONNX Runtime's schemas. Sorted by operator.
constexpr OperandWords kOperandWords[] = {
    {"", "Affine", "T", "T"},
    {"", "Crop", "T", "T"},
    {"", "GroupNorm", "T M M", "T"},
    {"", "ImageScaler", "T", "T"},
    {"", "LayerNormalization", "T V V", "V U U"},
    {"", "MeanVarianceNormalization", "T", "T"},
    {"", "MemcpyFromHost", "T", "T"},
    {"", "MemcpyToHost", "T", "T"},
    {"", "ParametricSoftplus", "T", "T"},
    {"", "ScaledTanh", "T", "T"},
    {"", "SimplifiedLayerNormalization", "T V", "V U"},
    {"", "ThresholdedRelu", "T", "T"},
    {kMicrosoft, "Attention", "T T T M T T M", "T T"},
    {kMicrosoft, "BiasAdd", "T T T", "T"},
    {kMicrosoft, "BiasGelu", "T T", "T"},
    {kMicrosoft, "BiasSplitGelu", "T T", "T"},
    {kMicrosoft, "ConvTransposeWithDynamicPads", "T T . T", "T"},
    {kMicrosoft, "DequantizeLinear", "T1 T2 T1", "T2"},
    {kMicrosoft, "DynamicQuantizeMatMul", "T1 T2 T1 T2 T1", "T1"},
    {kMicrosoft, "EmbedLayerNormalization", "T1 T1 T T T T T T1 T1", "T T1 T"},
    {kMicrosoft, "FastGelu", "T T", "T"},
    {kMicrosoft, "FusedMatMul", "T T", "T"},
    {kMicrosoft, "FusedMatMulActivation", "T T", "T"},
    {kMicrosoft, "Gelu", "T", "T"},
    {kMicrosoft, "GroupNorm", "T M M", "T"},
    {kMicrosoft, "GroupQueryAttention", "T T T T_CACHE T_CACHE M M T T . T T T_KV_SCALE T_KV_SCALE T T",
     "T T_CACHE T_CACHE T"},
    {kMicrosoft, "MatMulIntegerToFloat", "T1 T2 T3 T3 T1 T2 T3", "T3"},
    {kMicrosoft, "MatMulNBits", "T1 T2 T1 T3 T4 T1", "T1"},
    {kMicrosoft, "MultiHeadAttention", "T T T T M T T T M M", "T T T QK"},
    {kMicrosoft, "NhwcConv", "T T T", "T"},
    {kMicrosoft, "QAttention", "T1 T2 T3 T3 T3 T4 T1 T2 T3", "T3 T3"},
    {kMicrosoft, "QLinearAdd", "T . T T . T . T", "T"},
    {kMicrosoft, "QLinearAveragePool", "T . T . T", "T"},
    {kMicrosoft, "QLinearConcat", "TF T8 TV*", "T8"},
    {kMicrosoft, "QLinearGlobalAveragePool", "T . T . T", "T"},
    {kMicrosoft, "QLinearSigmoid", "T . T . T", "T"},
    {kMicrosoft, "QuantizeLinear", "T1 T1 T2", "T2"},
    {kMicrosoft, "QuickGelu", "T", "T"},
    {kMicrosoft, "RotaryEmbedding", "T M T T", "T"},
    {kMicrosoft, "SkipLayerNormalization", "T T T T T", "T U U T"},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", "T T T T", "T U U T"},
    {"com.microsoft.dml", "DmlFusedAdd", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedBatchNormalization", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedConv", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedConvTranspose", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedGemm", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedInstanceNormalization", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedMatMul", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedMeanVarianceNormalization", "T*", "T"},
    {"com.microsoft.dml", "DmlFusedSum", "T*", "T"},
};

// Fills the list; true when its last word stands for all that follow.
bool split_words(std::string_view words, std::vector<std::string>& list) {
  bool variadic = words.ends_with('*');
  if (variadic) words.remove_suffix(1);
  while (!words.empty()) {
    std::string_view word = words.substr(0, words.find(' '));
    list.emplace_back(word);
    words.remove_prefix(std::min(words.size(), word.size() + 1));
  }
  return variadic;
}

}  // namespace

std::optional<ir::OperandTypes> operand_types(std::string_view domain, std::string_view op, int64_t opset) {
  if (auto official = ir::find_operand_types(domain, op, opset)) return official;
  auto found =
      std::ranges::find_if(kOperandWords, [&](const OperandWords& o) { return o.domain == domain && o.op == op; });
  if (found == std::end(kOperandWords)) return std::nullopt;
  ir::OperandTypes types;
  types.variadic_inputs = split_words(found->inputs, types.inputs);
  types.variadic_outputs = split_words(found->outputs, types.outputs);
  // Of float16 all, but what is kept in float32 beside it; of bfloat16 their schemas say too little.
  for (const std::vector<std::string>* list : {&types.inputs, &types.outputs})
    for (const std::string& parameter : *list)
      if (parameter != "." && parameter != "U" && parameter != "T_KV_SCALE" && op != "DynamicQuantizeMatMul")
        types.of_float16.insert(parameter);
  return types;
}

std::optional<ir::OperandTypes> operand_types(const ir::Model& model, const ir::Node& node) {
  return operand_types(node.domain(), node.op_type(), model.opset(node.domain()).value_or(1));
}

}  // namespace thaw::ops
