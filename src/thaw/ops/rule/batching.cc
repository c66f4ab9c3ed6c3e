#include "thaw/ops/rule/batching.h"

#include <unordered_map>

namespace thaw::ops {
namespace {

using enum BatchKind;

constexpr std::string_view kSizedByData =
    "the size of its output depends on its data, which differs from sample to sample";
constexpr std::string_view kDraws = "it draws random numbers, which a batch would draw in another order";

constexpr Batching refused(std::string_view why) { return {kNone, 0, why}; }
constexpr Batching batch_first(std::string_view operands = "bs") { return {kBatchFirst, 0, {}, operands}; }
constexpr Batching last_axes(int64_t count, std::string_view operands = "bs") {
  return {kLastAxes, count, {}, operands};
}

// ai.onnx, apart from what the registry calls elementwise.
constexpr BatchingRow kOnnxRows[] = {
    {"Identity", {kElementwise}},
    {"ImageScaler", batch_first()},  // the registry's elementwise, with a bias along axis 1

    {"AveragePool", batch_first()},
    {"BatchNormalization", batch_first()},
    {"Conv", batch_first()},
    {"ConvTranspose", batch_first()},
    {"DeformConv", batch_first("bsbsb")},
    {"DepthToSpace", batch_first()},
    {"GlobalAveragePool", batch_first()},
    {"GlobalLpPool", batch_first()},
    {"GlobalMaxPool", batch_first()},
    {"GridSample", batch_first("bb")},
    {"GroupNormalization", batch_first()},
    {"InstanceNormalization", batch_first()},
    {"LpPool", batch_first()},
    {"LRN", batch_first()},
    {"QLinearConv", batch_first()},
    {"SpaceToDepth", batch_first()},
    {"Col2Im", batch_first()},
    {"STFT", batch_first()},
    {"TensorScatter", batch_first("b")},
    {"Attention", batch_first("bbbmb")},
    {"RotaryEmbedding", batch_first("bssb")},
    {"LinearAttention", batch_first("b")},
    {"CausalConvWithState", batch_first("bssb")},
    {"TfIdfVectorizer", last_axes(1)},

    {"Det", last_axes(2)},
    {"Trilu", last_axes(2)},

    {"ArgMax", {kAxis, 0}},
    {"ArgMin", {kAxis, 0}},
    {"Hardmax", {kAxis, -1}},
    {"LogSoftmax", {kAxis, -1}},
    {"LpNormalization", {kAxis, -1}},
    {"Softmax", {kAxis, -1}},
    {"LayerNormalization", {kAxis, -1}},
    {"RMSNormalization", {kAxis, -1}},
    {"SimplifiedLayerNormalization", {kAxis, -1}},
    {"TopK", {kAxis, -1}},
    {"OneHot", {kOneHot, -1}},
    {"QuantizeLinear", {kQuantize, 1}},
    {"DequantizeLinear", {kQuantize, 1}},
    {"DynamicQuantizeLinear", {kDynamicQuantize}},

    {"CumSum", {kCumulative}},
    {"CumProd", {kCumulative}},
    {"DFT", {kDft}},

    {"MeanVarianceNormalization", {kReduce}},
    {"ReduceL1", {kReduce}},
    {"ReduceL2", {kReduce}},
    {"ReduceLogSum", {kReduce}},
    {"ReduceLogSumExp", {kReduce}},
    {"ReduceMax", {kReduce}},
    {"ReduceMean", {kReduce}},
    {"ReduceMin", {kReduce}},
    {"ReduceProd", {kReduce}},
    {"ReduceSum", {kReduce}},
    {"ReduceSumSquare", {kReduce}},
    {"SoftmaxCrossEntropyLoss", {kLoss}},
    {"NegativeLogLikelihoodLoss", {kLoss}},

    {"Compress", {kCompress}},
    {"Concat", {kConcat}},
    {"Split", {kSplit}},
    {"Reshape", {kReshape}},
    {"Flatten", {kFlatten}},
    {"Squeeze", {kSqueeze}},
    {"Unsqueeze", {kUnsqueeze}},
    {"Transpose", {kTranspose}},
    {"Expand", {kExpand}},
    {"Tile", {kTile}},
    {"Slice", {kSlice}},
    {"Pad", {kPad}},
    {"CenterCropPad", {kCenterCropPad}},
    {"ReverseSequence", {kReverseSequence}},
    {"Shape", {kShape}},
    {"Size", {kSize}},
    {"Resize", {kResize}},
    {"Upsample", {kResize}},
    {"Gather", {kGather}},
    {"GatherElements", {kGatherElements}},
    {"GatherND", {kGatherNd}},
    {"Scatter", {kScatterElements}},
    {"ScatterElements", {kScatterElements}},
    {"ScatterND", {kScatterNd}},
    {"MatMul", {kMatMul}},
    {"MatMulInteger", {kMatMul}},
    {"QLinearMatMul", {kMatMul}},
    {"ConvInteger", {kConvInteger, 0, {}, "bsbs"}},
    {"Gemm", {kGemm}},
    {"Einsum", {kEinsum}},
    {"GRU", {kRecurrent}},
    {"LSTM", {kRecurrent}},
    {"RNN", {kRecurrent}},
    {"MaxPool", {kPoolIndices}},
    {"MaxUnpool", {kUnpool, 0, {}, "bbs"}},
    {"RoiAlign", {kRegions, 0, {}, "sbb"}},
    {"AffineGrid", {kAffineGrid}},
    {"EyeLike", {kLike}},
    {"Dropout", {kDropout}},

    {"If", {kIf}},
    {"Loop", {kLoop}},
    {"Scan", {kScan}},
    {"SequenceMap", {kSequenceMap}},
    {"ConcatFromSequence", {kSequence}},
    {"SequenceAt", {kSequence}},
    {"SequenceConstruct", {kSequence}},
    {"SequenceErase", {kSequence}},
    {"SequenceInsert", {kSequence}},
    {"SplitToSequence", {kSequence}},
    {"Optional", {kSequence}},
    {"OptionalGetElement", {kSequence}},
    {"SequenceLength", {kLength}},
    {"OptionalHasElement", {kLength}},

    {"NonMaxSuppression", refused(kSizedByData)},
    {"NonZero", refused(kSizedByData)},
    {"Unique", refused(kSizedByData)},
    {"Range", refused(kSizedByData)},
    {"ConstantOfShape", refused(kSizedByData)},
    {"BlackmanWindow", refused(kSizedByData)},
    {"HammingWindow", refused(kSizedByData)},
    {"HannWindow", refused(kSizedByData)},
    {"MelWeightMatrix", refused(kSizedByData)},
    {"StringSplit", refused(kSizedByData)},
    {"StringNormalizer", refused("it may drop words, so that its output's size depends on its data")},
    {"ImageDecoder", refused(kSizedByData)},
    {"Bernoulli", refused(kDraws)},
    {"Multinomial", refused(kDraws)},
    {"RandomNormalLike", refused(kDraws)},
    {"RandomUniformLike", refused(kDraws)},
    {"MaxRoiPool", refused("its regions name their image by a float number; RoiAlign can be batched")},
};

std::unordered_map<std::string_view, Batching> index_of(std::span<const BatchingRow> rows) {
  std::unordered_map<std::string_view, Batching> index;
  for (const BatchingRow& row : rows) index.emplace(row.name, row.batching);
  return index;
}

const std::unordered_map<std::string_view, Batching>* rows_of(std::string_view domain) {
  static const auto onnx = index_of(kOnnxRows), microsoft = index_of(microsoft_batching()),
                    ml = index_of(ml_batching());
  if (domain.empty()) return &onnx;
  if (domain == kMicrosoft) return &microsoft;
  return domain == kMl ? &ml : nullptr;
}

}  // namespace

Batching batching_of(std::string_view domain, std::string_view name) {
  if (const auto* rows = rows_of(domain))
    if (const auto found = rows->find(name); found != rows->end()) return found->second;
  const OpEntry* entry = registry().find(domain, name);
  if (entry && entry->op_class == OpClass::kElementwise) return {kElementwise};
  return refused("thaw has no batch rule for it");
}

}  // namespace thaw::ops
