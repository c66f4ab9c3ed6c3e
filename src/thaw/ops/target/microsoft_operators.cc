// The names of the operators of com.microsoft that ONNX Runtime 1.31 has, whichever execution provider runs them.
#include "thaw/ops/target/target.h"

namespace thaw::ops {

namespace {

// clang-format off
constexpr std::string_view kOperators[] = {
    "Attention", "AttnLSTM", "BeamSearch", "BiasAdd", "BiasDropout", "BiasGelu", "BiasSoftmax", "BiasSplitGelu",
    "BifurcationDetector", "BitmaskBiasDropout", "BitmaskDropout", "BranchwiseRMSNorm", "CDist",
    "CausalConvWithState", "ComplexMul", "ComplexMulConj", "ConvTransposeWithDynamicPads", "CropAndResize",
    "DecoderAttention", "DecoderMaskedMultiHeadAttention", "DecoderMaskedSelfAttention", "DequantizeBFP",
    "DequantizeLinear", "DequantizeWithOrder", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul",
    "DynamicSparseAttention", "DynamicTimeWarping", "EPContext", "EmbedLayerNormalization", "EngramGate",
    "ExpandDims", "FastGelu", "FusedConv", "FusedGemm", "FusedMatMul", "FusedMatMulActivation", "GatedAdd",
    "GatedDeltaNet", "GatedRMSNorm", "GatedRelativePositionBias", "GatherBlockQuantized", "GatherND", "Gelu",
    "GemmFastGelu", "GemmFloat8", "GemmaRotaryEmbedding", "GreedySearch", "GridSample", "GroupNorm",
    "GroupQueryAttention", "HyperConnectionPostMix", "HyperConnectionPreMix", "Inverse", "Irfft", "IsAllFinite",
    "LinearAttention", "LinearAttentionGate", "LongformerAttention", "MRotaryEmbedding",
    "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight", "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16",
    "MatMulIntegerToFloat", "MatMulNBits", "MatMulNBitsMlp", "MatMulNBitsQkv", "MaxpoolWithMask", "MoE",
    "MulInteger", "MultiHeadAttention", "MurmurHash3", "NGramHashMapping", "NGramRepeatBlock", "NhwcConv",
    "NhwcFusedConv", "NhwcMaxPool", "PackedAttention", "PackedMultiHeadAttention", "PackedSparseAttentionIndexer",
    "Pad", "PagedAttention", "QAttention", "QEmbedLayerNormalization", "QGemm", "QLinearAdd", "QLinearAveragePool",
    "QLinearConcat", "QLinearConv", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearMul",
    "QLinearReduceMean", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QMoE", "QOrderedAttention",
    "QOrderedGelu", "QOrderedLayerNormalization", "QOrderedLongformerAttention", "QOrderedMatMul", "QuantizeBFP",
    "QuantizeLinear", "QuantizeWithOrder", "QuickGelu", "Range", "ReduceSumInteger", "RelativePositionBias",
    "RemovePadding", "RestorePadding", "Rfft", "RotaryEmbedding", "SampleOp", "Sampling", "ScaledSiLU",
    "SkipGroupNorm", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Snpe", "SparseAttention",
    "SparseAttentionIndexer", "SparsePagedAttention", "SparseToDenseMatMul", "Tokenizer", "TorchEmbedding",
    "TransposeMatMul", "Trilu", "UnfoldTensor", "Unique", "VarlenCausalConvWithState", "VarlenNGramHashMapping",
    "WhisperBeamSearch", "WordConvEmbedding",
};
// clang-format on

}  // namespace

std::span<const std::string_view> microsoft_operators() { return kOperators; }

}  // namespace thaw::ops
