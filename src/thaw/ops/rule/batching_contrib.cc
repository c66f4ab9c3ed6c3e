// How the operators of com.microsoft and of ai.onnx.ml are batched.
#include "thaw/ops/rule/batching.h"

namespace thaw::ops {
namespace {

using enum BatchKind;

constexpr Batching refused(std::string_view why) { return {kNone, 0, why}; }
constexpr Batching batch_first(std::string_view operands = "bs", std::string_view outputs = "b") {
  return {kBatchFirst, 0, {}, operands, outputs};
}
constexpr Batching last_axes(int64_t count, std::string_view operands = "bs") {
  return {kLastAxes, count, {}, operands};
}

constexpr std::string_view kPacked = "it takes the tokens of all sequences packed into one axis";
constexpr std::string_view kQuantizesWhole =
    "it finds a scale of its own for the whole tensor, all samples together; DynamicQuantizeLinear can be batched";
constexpr std::string_view kDraws = "it draws random numbers, which a batch would draw in another order";
constexpr std::string_view kMaps = "maps cannot hold a batch";
constexpr std::string_view kGenerates = "how many tokens it makes depends on its data";

constexpr BatchingRow kMicrosoftRows[] = {
    {"FusedConv", batch_first("bssb")},
    {"NhwcConv", batch_first()},
    {"NhwcFusedConv", batch_first("bssb")},
    {"NhwcMaxPool", batch_first()},
    {"QLinearConv", batch_first()},
    {"QLinearAveragePool", batch_first()},
    {"QLinearGlobalAveragePool", batch_first()},
    {"QGemm", batch_first()},
    {"GridSample", batch_first("bb")},
    {"GroupNorm", batch_first()},
    {"SkipGroupNorm", batch_first("bssbs")},
    {"BiasSplitGelu", last_axes(1)},
    {"BiasAdd", batch_first("bsb")},
    {"NGramRepeatBlock", batch_first("b")},
    {"MoE", batch_first("bbs")},
    {"QMoE", batch_first("bbssssssssssssbs")},
    {"GemmFloat8", batch_first()},
    {"CDist", batch_first()},
    {"CropAndResize", {kRegions}},
    {"EmbedLayerNormalization", batch_first("bbsssssbb")},
    {"QEmbedLayerNormalization", batch_first("bbsssssbs")},

    {"Attention", batch_first("bssb1ms", "b1")},
    {"QAttention", batch_first("bssssbss1", "b1")},
    {"MultiHeadAttention", batch_first("bbbsbmbbs")},
    {"DecoderMaskedMultiHeadAttention", batch_first("bbbbmbbssbs")},
    {"GroupQueryAttention", batch_first("bbbbbbsssbms")},
    {"LongformerAttention", batch_first("bssbssb")},
    {"RotaryEmbedding", batch_first("bos")},
    {"MRotaryEmbedding", batch_first("b1s")},
    {"LinearAttention", batch_first("b")},
    {"CausalConvWithState", batch_first("bssb")},
    {"LinearAttentionGate", batch_first("bssb")},
    {"SparseAttention", batch_first("bbbbbsssbs")},
    {"DecoderMaskedSelfAttention", batch_first("bssb1mssb", "b1")},
    {"GemmaRotaryEmbedding", batch_first("b")},
    {"GatedRelativePositionBias", batch_first()},

    {"SkipLayerNormalization", last_axes(1, "bbs")},
    {"SkipSimplifiedLayerNormalization", last_axes(1, "bbs")},
    {"GatedRMSNorm", last_axes(1, "bsb")},
    {"MatMulNBits", last_axes(1)},
    {"MatMulBnb4", last_axes(1)},
    {"MatMulFpQ4", last_axes(1)},
    {"MatMulNBitsMlp", last_axes(1, "bbs")},
    {"GemmFastGelu", last_axes(1)},
    {"ComplexMul", {kElementwise}},
    {"ComplexMulConj", {kElementwise}},
    {"GatedAdd", {kElementwise}},
    {"MulInteger", {kElementwise}},
    {"MurmurHash3", {kElementwise}},
    {"QLinearAdd", {kElementwise}},
    {"QLinearMul", {kElementwise}},
    {"QLinearSigmoid", {kElementwise}},
    {"QLinearLeakyRelu", {kElementwise}},
    {"QLinearWhere", {kElementwise}},
    {"QLinearSoftmax", {kAxis, -1}},
    {"QLinearConcat", {kQLinearConcat}},
    {"QLinearReduceMean", {kReduce}},
    {"ReduceSumInteger", {kReduce}},
    {"UnfoldTensor", {kAxis, -1}},
    {"ExpandDims", {kCumulative}},
    {"GatherBlockQuantized", {kGatherQuantized}},
    {"Rfft", last_axes(4)},
    {"Irfft", last_axes(4)},
    {"Inverse", last_axes(2)},
    {"Trilu", last_axes(2)},
    {"QuantizeLinear", {kQuantize, 1}},
    {"DequantizeLinear", {kQuantize, 1}},
    {"FusedMatMul", {kMatMul}},
    {"TransposeMatMul", {kMatMul}},
    {"FusedMatMulActivation", {kMatMul}},
    {"MatMulIntegerToFloat", {kMatMul}},
    {"MatMulInteger16", {kMatMul}},
    {"FusedGemm", {kGemm}},
    {"TorchEmbedding", {kGather}},
    {"Pad", {kPad}},

    {"BiasSoftmax", refused("its bias broadcasts by a rule of its own")},
    {"BranchwiseRMSNorm", refused("its scales belong to an axis of its own")},
    {"DecoderAttention", refused("its batch stands in the second axis")},
    {"IsAllFinite", refused("it looks at all its operands at once, all samples together")},
    {"BiasDropout", refused(kDraws)},
    {"BitmaskDropout", refused(kDraws)},
    {"BitmaskBiasDropout", refused(kDraws)},
    {"RelativePositionBias", refused("its output has the size that its operands say")},
    {"DynamicQuantizeMatMul", refused(kQuantizesWhole)},
    {"DynamicQuantizeLSTM", refused(kQuantizesWhole)},
    {"PackedAttention", refused(kPacked)},
    {"PackedMultiHeadAttention", refused(kPacked)},
    {"PagedAttention", refused(kPacked)},
    {"RemovePadding", refused(kPacked)},
    {"RestorePadding", refused(kPacked)},
    {"BeamSearch", refused(kGenerates)},
    {"GreedySearch", refused(kGenerates)},
    {"Sampling", refused(kGenerates)},
    {"WhisperBeamSearch", refused(kGenerates)},
    {"Unique", refused("the size of its output depends on its data, which differs from sample to sample")},
};

// Rows of features, [rows, features]: each is seen apart.
constexpr BatchingRow kMlRows[] = {
    {"Imputer", batch_first()},
    {"LinearClassifier", batch_first()},
    {"LinearRegressor", batch_first()},
    {"Normalizer", batch_first()},
    {"SVMClassifier", batch_first()},
    {"SVMRegressor", batch_first()},
    {"Scaler", batch_first()},
    {"TreeEnsemble", batch_first()},
    {"TreeEnsembleClassifier", batch_first()},
    {"TreeEnsembleRegressor", batch_first()},
    {"FeatureVectorizer", batch_first("b")},
    {"ArrayFeatureExtractor", batch_first()},
    {"OneHotEncoder", last_axes(1)},
    {"ZipMap", refused(kMaps)},
    {"CastMap", refused(kMaps)},
    {"DictVectorizer", refused(kMaps)},
};

}  // namespace

std::span<const BatchingRow> microsoft_batching() { return kMicrosoftRows; }
std::span<const BatchingRow> ml_batching() { return kMlRows; }

}  // namespace thaw::ops
