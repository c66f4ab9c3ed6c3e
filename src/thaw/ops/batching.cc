#include "thaw/ops/batching.h"

#include <unordered_map>

namespace thaw::ops {
namespace {

using enum BatchKind;

constexpr std::string_view kSizedByData =
    "the size of its output depends on its data, which differs from sample to sample";
constexpr std::string_view kDraws = "it draws random numbers, which a batch would draw in another order";
constexpr std::string_view kWholeTensor = "it looks at the whole tensor at once, all samples together";

struct Row {
  std::string_view name;
  Batching batching;
};

// ai.onnx, apart from what the registry calls elementwise.
constexpr Row kOnnxRows[] = {
    {"Identity", {kElementwise}},

    {"AveragePool", {kBatchFirst}},
    {"BatchNormalization", {kBatchFirst}},
    {"Conv", {kBatchFirst}},
    {"ConvInteger", {kBatchFirst}},
    {"ConvTranspose", {kBatchFirst}},
    {"DeformConv", {kBatchFirst}},
    {"DepthToSpace", {kBatchFirst}},
    {"GlobalAveragePool", {kBatchFirst}},
    {"GlobalLpPool", {kBatchFirst}},
    {"GlobalMaxPool", {kBatchFirst}},
    {"GridSample", {kBatchFirst}},
    {"GroupNormalization", {kBatchFirst}},
    {"InstanceNormalization", {kBatchFirst}},
    {"LpPool", {kBatchFirst}},
    {"LRN", {kBatchFirst}},
    {"MaxPool", {kBatchFirst}},
    {"QLinearConv", {kBatchFirst}},
    {"SpaceToDepth", {kBatchFirst}},
    {"Col2Im", {kBatchFirst}},
    {"Attention", {kBatchFirst}},
    {"RotaryEmbedding", {kBatchFirst}},
    {"AffineGrid", {kNone, 0, "its size is that of a batch already"}},

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
    {"OneHot", {kAxis, -1}},
    {"QuantizeLinear", {kAxis, 1}},
    {"DequantizeLinear", {kAxis, 1}},

    {"CumSum", {kCumulative}},
    {"CumProd", {kCumulative}},

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
    {"Gemm", {kGemm}},
    {"Einsum", {kEinsum}},
    {"GRU", {kRecurrent}},
    {"LSTM", {kRecurrent}},
    {"RNN", {kRecurrent}},
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
    {"EyeLike", {kLike}},

    {"Compress", {kNone, 0, kSizedByData}},
    {"NonMaxSuppression", {kNone, 0, kSizedByData}},
    {"NonZero", {kNone, 0, kSizedByData}},
    {"Unique", {kNone, 0, kSizedByData}},
    {"Range", {kNone, 0, kSizedByData}},
    {"ConstantOfShape", {kNone, 0, kSizedByData}},
    {"StringSplit", {kNone, 0, kSizedByData}},
    {"Bernoulli", {kNone, 0, kDraws}},
    {"Multinomial", {kNone, 0, kDraws}},
    {"RandomNormalLike", {kNone, 0, kDraws}},
    {"RandomUniformLike", {kNone, 0, kDraws}},
    {"DynamicQuantizeLinear", {kNone, 0, kWholeTensor}},
    {"MaxUnpool", {kNone, 0, "its indices count the whole tensor, all samples together"}},
    {"ReverseSequence", {kNone, 0, "its batch axis is taken"}},
    {"ImageDecoder", {kNone, 0, kSizedByData}},
    {"SoftmaxCrossEntropyLoss", {kNone, 0, kWholeTensor}},
    {"NegativeLogLikelihoodLoss", {kNone, 0, kWholeTensor}},
};

constexpr Row kMicrosoftRows[] = {
    {"FusedConv", {kBatchFirst}},
    {"Gelu", {kElementwise}},
    {"FastGelu", {kElementwise}},
    {"QuickGelu", {kElementwise}},
    {"BiasGelu", {kElementwise}},
    {"FusedMatMul", {kNone, 0, "its transposition counts axes from the front"}},
    {"QLinearAdd", {kElementwise}},
    {"QLinearMul", {kElementwise}},
    {"QLinearSigmoid", {kElementwise}},
    {"QLinearLeakyRelu", {kElementwise}},
    {"QLinearAveragePool", {kBatchFirst}},
    {"QLinearGlobalAveragePool", {kBatchFirst}},
    {"MultiHeadAttention", {kBatchFirst}},
    {"Attention", {kBatchFirst}},
    {"SkipLayerNormalization", {kBatchFirst}},
    {"SkipSimplifiedLayerNormalization", {kBatchFirst}},
};

std::unordered_map<std::string_view, Batching> index_of(std::span<const Row> rows) {
  std::unordered_map<std::string_view, Batching> index;
  for (const Row& row : rows) index.emplace(row.name, row.batching);
  return index;
}

}  // namespace

Batching batching_of(std::string_view domain, std::string_view name) {
  static const auto onnx = index_of(kOnnxRows), microsoft = index_of(kMicrosoftRows);
  if (domain.empty() || domain == kMicrosoft) {
    const auto& index = domain.empty() ? onnx : microsoft;
    if (const auto found = index.find(name); found != index.end()) return found->second;
  }
  const OpEntry* entry = registry().find(domain, name);
  if (entry && domain.empty() && entry->op_class == OpClass::kElementwise) return {kElementwise};
  return {kNone, 0, "thaw has no batch rule for it"};
}

}  // namespace thaw::ops
