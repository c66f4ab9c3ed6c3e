#include "thaw/ops/rule/operand_types.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"

namespace thaw::ops {
namespace {

// A word an operand, in order: its type parameter, or "." for one whose type is fixed. "*" after the last word: it
// stands for all that follow.
struct OperandWords {
  std::string_view domain, op, inputs, outputs;
  std::string_view of_float16;  // parameters that may be float16
};

// All operators of com.microsoft, as the schemas of ONNX Runtime 1.31.1 have them (tests/check_target_test.py compares); those of
// DirectML's table (tables/directml.txt) in com.microsoft.dml; and those of ai.onnx that the official schemas do not have, or not
// yet at the kernel's opset. Sorted by domain and operator.
constexpr OperandWords kOperandWords[] = {
    {"", "Affine", "T", "T", "T"},
    {"", "Crop", "T", "T", "T"},
    {"", "GroupNorm", "T M M", "T", "M T"},
    {"", "ImageScaler", "T", "T", "T"},
    {"", "LayerNormalization", "T V V", "V U U", "T V"},
    {"", "MeanVarianceNormalization", "T", "T", "T"},
    {"", "MemcpyFromHost", "T", "T", "T"},
    {"", "MemcpyToHost", "T", "T", "T"},
    {"", "ParametricSoftplus", "T", "T", "T"},
    {"", "ScaledTanh", "T", "T", "T"},
    {"", "SimplifiedLayerNormalization", "T V", "V U", "T V"},
    {"", "ThresholdedRelu", "T", "T", "T"},
    {kMicrosoft, "Attention", "T T T M T T M", "T T", "T"},
    {kMicrosoft, "AttnLSTM", "T T T T T1 T T T T T T T T1 T", "T T T", ""},
    {kMicrosoft, "BeamSearch", "F I I I I T T M M I I I", "I T T", "F T"},
    {kMicrosoft, "BiasAdd", "T T T", "T", "T"},
    {kMicrosoft, "BiasDropout", "T T T T1 T2", "T T2", "T T1"},
    {kMicrosoft, "BiasGelu", "T T", "T", "T"},
    {kMicrosoft, "BiasSoftmax", "T T", "T", "T"},
    {kMicrosoft, "BiasSplitGelu", "T T", "T", "T"},
    {kMicrosoft, "BifurcationDetector", "T T T T", "T T", ""},
    {kMicrosoft, "BitmaskBiasDropout", "T T T T1 T2", "T T3", "T T1"},
    {kMicrosoft, "BitmaskDropout", "T T1 T2", "T T3", "T T1"},
    {kMicrosoft, "BranchwiseRMSNorm", "T M", "T", "M T"},
    {kMicrosoft, "CDist", "T T", "T", ""},
    {kMicrosoft, "CausalConvWithState", "T T T T", "T T", "T"},
    {kMicrosoft, "ComplexMul", "T T", "T", "T"},
    {kMicrosoft, "ComplexMulConj", "T T", "T", "T"},
    {kMicrosoft, "ConvTransposeWithDynamicPads", "T T . T", "T", "T"},
    {kMicrosoft, "CropAndResize", "T1 T1 T2 T2", "T1", "T1"},
    {kMicrosoft, "DecoderAttention", "T T T T T B T T B B B B", "T T T", "T"},
    {kMicrosoft, "DecoderMaskedMultiHeadAttention", "T T T M T T T M M M T", "T T T QK", "QK T"},
    {kMicrosoft, "DecoderMaskedSelfAttention", "T T T M T T M M M", "T T", "T"},
    {kMicrosoft, "DequantizeBFP", "T1 T2 T2", "T3", "T3"},
    {kMicrosoft, "DequantizeLinear", "T1 T2 T1", "T2", "T2"},
    {kMicrosoft, "DequantizeWithOrder", "Q S", "F", "F"},
    {kMicrosoft, "DynamicQuantizeLSTM", "T T2 T2 T T1 T T T T T2 T T2", "T T T", ""},
    {kMicrosoft, "DynamicQuantizeMatMul", "T1 T2 T1 T2 T1", "T1", ""},
    {kMicrosoft, "DynamicSparseAttention", "T T T T T T T M M M M T T . T T T", "T T T", "T"},
    {kMicrosoft, "DynamicTimeWarping", "F", "I", ""},
    {kMicrosoft, "EPContext", "T*", "T*", "T"},
    {kMicrosoft, "EmbedLayerNormalization", "T1 T1 T T T T T T1 T1", "T T1 T", "T"},
    {kMicrosoft, "EngramGate", "T T T T T T", "T T", "T"},
    {kMicrosoft, "ExpandDims", "T .", "T", "T"},
    {kMicrosoft, "FastGelu", "T T", "T", "T"},
    {kMicrosoft, "FusedConv", "T T T T", "T", "T"},
    {kMicrosoft, "FusedGemm", "T T T", "T", "T"},
    {kMicrosoft, "FusedMatMul", "T T", "T", "T"},
    {kMicrosoft, "FusedMatMulActivation", "T T", "T", "T"},
    {kMicrosoft, "GatedAdd", "T T T", "T", "T"},
    {kMicrosoft, "GatedDeltaNet", "T T T TI TS TS TS TS TS TI TI", "T TS TS", "T"},
    {kMicrosoft, "GatedRMSNorm", "T T T", "T", "T"},
    {kMicrosoft, "GatedRelativePositionBias", "T T T T T T M", "T", "T"},
    {kMicrosoft, "GatherBlockQuantized", "T1 Tind T2 T1", "T2", "T2"},
    {kMicrosoft, "GatherND", "T Tind", "T", "T"},
    {kMicrosoft, "Gelu", "T", "T", "T"},
    {kMicrosoft, "GemmFastGelu", "T T T", "T", "T"},
    {kMicrosoft, "GemmFloat8", "TA TB TC TS TS TS", "TR", "TA TB TC TR"},
    {kMicrosoft, "GemmaRotaryEmbedding", "U T T T T", "T T", "T"},
    {kMicrosoft, "GreedySearch", "I I I T I I I", "I", ""},
    {kMicrosoft, "GridSample", "T1 T1", "T2", "T1 T2"},
    {kMicrosoft, "GroupNorm", "T M M", "T", "M T"},
    {kMicrosoft, "GroupQueryAttention", "T T T T_CACHE T_CACHE M M T T . T T T_KV_SCALE T_KV_SCALE T T",
     "T T_CACHE T_CACHE T", "T T_CACHE"},
    {kMicrosoft, "HyperConnectionPostMix", "T T M M", "T", "M T"},
    {kMicrosoft, "HyperConnectionPreMix", "T M", "T", "M T"},
    {kMicrosoft, "Inverse", "T", "T", "T"},
    {kMicrosoft, "Irfft", "T", "T", "T"},
    {kMicrosoft, "IsAllFinite", "V*", "T", "V"},
    {kMicrosoft, "LinearAttention", "T T T S T T", "T S", "S T"},
    {kMicrosoft, "LinearAttentionGate", "T TF TF T", "T T", "T"},
    {kMicrosoft, "LongformerAttention", "T T T T T T G", "T", "T"},
    {kMicrosoft, "MRotaryEmbedding", "T M T T", "T", "T"},
    {kMicrosoft, "MatMulBlockQuantizedFp4Weight", "T T1 T2 T3 T3 T", "T", "T"},
    {kMicrosoft, "MatMulBlockQuantizedFp8Weight", "T T1 T2 T2 T", "T", "T"},
    {kMicrosoft, "MatMulBnb4", "T1 T2 T1", "T1", "T1"},
    {kMicrosoft, "MatMulFpQ4", "T1 T2 T3", "T1", ""},
    {kMicrosoft, "MatMulInteger16", "T1 T2", "T3", ""},
    {kMicrosoft, "MatMulIntegerToFloat", "T1 T2 T3 T3 T1 T2 T3", "T3", "T3"},
    {kMicrosoft, "MatMulNBits", "T1 T2 T1 T3 T4 T1", "T1", "T1 T3"},
    {kMicrosoft, "MatMulNBitsMlp", "T1 T1 T1 T2 T1 T1 T2 T1 T1", "T1 T1", "T1"},
    {kMicrosoft, "MatMulNBitsQkv", "T1 T1 T1 T2 T1 T1 T2 T1 T1 T2 T1 T1", "T1 T1 T1 T1", "T1"},
    {kMicrosoft, "MaxpoolWithMask", "T .", "T", ""},
    {kMicrosoft, "MoE", "T T T T T T T T", "T", "T"},
    {kMicrosoft, "MulInteger", "T T T T", "T1", ""},
    {kMicrosoft, "MultiHeadAttention", "T T T T M T T T M M", "T T T QK", "QK T"},
    {kMicrosoft, "MurmurHash3", "T1", "T2", ""},
    {kMicrosoft, "NGramHashMapping", "M M M M M M .", "M M", ""},
    {kMicrosoft, "NGramRepeatBlock", "Tid T", "T", ""},
    {kMicrosoft, "NhwcConv", "T T T", "T", "T"},
    {kMicrosoft, "NhwcFusedConv", "T T T T", "T", "T"},
    {kMicrosoft, "NhwcMaxPool", "T", "T", ""},
    {kMicrosoft, "PackedAttention", "T T T M M T", "T", "T"},
    {kMicrosoft, "PackedMultiHeadAttention", "T T T T M M T", "T", "T"},
    {kMicrosoft, "PackedSparseAttentionIndexer", "T T T T T T M M T T T I T T T M M M", "M M T T T M T", "T"},
    {kMicrosoft, "Pad", "T . T", "T", "T"},
    {kMicrosoft, "PagedAttention", "T T T T_CACHE T_CACHE S S S T T S T T T T_KV_SCALE T_KV_SCALE S",
     "T T_CACHE T_CACHE", "T T_CACHE"},
    {kMicrosoft, "QAttention", "T1 T2 T3 T3 T3 T4 T1 T2 T3", "T3 T3", "T3"},
    {kMicrosoft, "QEmbedLayerNormalization", "T1 T1 T2 T2 T2 T2 T2 T1 T T T T T T2 T2 T2 T2 T2", "T T1", ""},
    {kMicrosoft, "QGemm", "TA T TA TB T TB TC T TYZ", "TY", ""},
    {kMicrosoft, "QLinearAdd", "T . T T . T . T", "T", ""},
    {kMicrosoft, "QLinearAveragePool", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearConcat", "TF T8 TV*", "T8", ""},
    {kMicrosoft, "QLinearConv", "T1 . T1 T2 . T2 . T3 T4", "T3", ""},
    {kMicrosoft, "QLinearGlobalAveragePool", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearLeakyRelu", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearMul", "T . T T . T . T", "T", ""},
    {kMicrosoft, "QLinearReduceMean", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearSigmoid", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearSoftmax", "T . T . T", "T", ""},
    {kMicrosoft, "QLinearWhere", "B T TF T T TF T TF T", "T", ""},
    {kMicrosoft, "QMoE", "T T T1 T2 T T1 T2 T T1 T2 T T1 T1 T1 T T4 T4 T4 T4 T2 T2", "T", "T T2"},
    {kMicrosoft, "QOrderedAttention", "Q S S S S Q Q Q S S S S S S S S S G Q S", "Q", ""},
    {kMicrosoft, "QOrderedGelu", "Q S S", "Q", ""},
    {kMicrosoft, "QOrderedLayerNormalization", "Q S F F S", "Q", "F"},
    {kMicrosoft, "QOrderedLongformerAttention", "Q S Q S S S S F Q S S S G S", "Q", "F"},
    {kMicrosoft, "QOrderedMatMul", "Q S Q S S S Q S", "Q", ""},
    {kMicrosoft, "QuantizeBFP", "T1", "T2 T3 T3", "T1"},
    {kMicrosoft, "QuantizeLinear", "T1 T1 T2", "T2", "T1"},
    {kMicrosoft, "QuantizeWithOrder", "F S", "Q", "F"},
    {kMicrosoft, "QuickGelu", "T", "T", "T"},
    {kMicrosoft, "Range", "T T T", "T", ""},
    {kMicrosoft, "ReduceSumInteger", "T1", "T2", ""},
    {kMicrosoft, "RelativePositionBias", "T U U", "T", "T"},
    {kMicrosoft, "RemovePadding", "T M", "T M M M", "T"},
    {kMicrosoft, "RestorePadding", "T M", "T", "T"},
    {kMicrosoft, "Rfft", "T", "T", "T"},
    {kMicrosoft, "RotaryEmbedding", "T M T T", "T", "T"},
    {kMicrosoft, "SampleOp", "T", "T", "T"},
    {kMicrosoft, "Sampling", "I I I T I I I I I", "I T", ""},
    {kMicrosoft, "ScaledSiLU", "T M", "T", "M T"},
    {kMicrosoft, "SkipGroupNorm", "T M M T T", "T T", "M T"},
    {kMicrosoft, "SkipLayerNormalization", "T T T T T", "T U U T", "T"},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", "T T T T", "T U U T", "T"},
    {kMicrosoft, "Snpe", "T*", "T*", ""},
    {kMicrosoft, "SparseAttention", "T T T T T M M M M T T", "T T T", "T"},
    {kMicrosoft, "SparseAttentionIndexer", "T T T T T T TB T T T T I M T", "M T T", "T"},
    {kMicrosoft, "SparsePagedAttention", "T T T T_CACHE T_CACHE S S S S S S T T S T T T T T T_KV_SCALE T_KV_SCALE S",
     "T T_CACHE T_CACHE", "T T_CACHE"},
    {kMicrosoft, "SparseToDenseMatMul", "T T1", "T1", ""},
    {kMicrosoft, "Tokenizer", "T", "T", ""},
    {kMicrosoft, "TorchEmbedding", "T . . .", "T", "T"},
    {kMicrosoft, "TransposeMatMul", "T T", "T", "T"},
    {kMicrosoft, "Trilu", "T .", "T", "T"},
    {kMicrosoft, "UnfoldTensor", "T", "T", "T"},
    {kMicrosoft, "Unique", "T", "T . .", "T"},
    {kMicrosoft, "VarlenCausalConvWithState", "T T M T T M", "T T T", "T"},
    {kMicrosoft, "VarlenNGramHashMapping", "M M M S M M M . S S", "M M S M", ""},
    {kMicrosoft, "WhisperBeamSearch", "F I I I I T T M M I I I I I T", "I T T V T", "F T"},
    {kMicrosoft, "WordConvEmbedding", "T T1 T1 T1", "T1", ""},
    {"com.microsoft.dml", "DmlFusedAdd", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedBatchNormalization", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedConv", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedConvTranspose", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedGemm", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedInstanceNormalization", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedMatMul", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedMeanVarianceNormalization", "T*", "T", "T"},
    {"com.microsoft.dml", "DmlFusedSum", "T*", "T", "T"},
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
  // Of bfloat16 their schemas say too little.
  std::vector<std::string> of_float16;
  split_words(found->of_float16, of_float16);
  types.of_float16.insert(of_float16.begin(), of_float16.end());
  return types;
}

std::optional<ir::OperandTypes> operand_types(const ir::Model& model, const ir::Node& node) {
  return operand_types(node.domain(), node.op_type(), model.opset(node.domain()).value_or(1));
}

}  // namespace thaw::ops
