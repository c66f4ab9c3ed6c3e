// What an operator needs to be told when its operands gain a batch axis: the batch rule's data.
//
// A model for one sample becomes a model for a batch by giving every operator whose operands depend on the sample the
// same operator, or others, over all samples at once (vmap, as in JAX). Operators fall into a few kinds by how they
// treat axes; the rewrites, one for each kind, are in batch/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

enum class BatchKind : uint8_t {
  kElementwise,  // operands broadcast: axes are counted from the end
  kBatchFirst,   // axis 0 holds samples that do not meet: Conv, pools, DepthToSpace, attention; `operands` says which
  kLastAxes,     // the last `axis` axes are seen apart from those before them: Det, Trilu, products with packed weights
  kAxis,         // one attribute `axis`; operand 0 alone depends on samples, or all operands have the same shape
  kCumulative,   // operand 1 is the axis
  kDft,          // operand 2 or the attribute is the axis
  kReduce,       // `axes` as attribute or operand 1, with keepdims
  kCompress,
  kOneHot,
  kConcat,
  kQLinearConcat,  // the same with a scale and a zero point for each
  kSplit,
  kReshape,
  kFlatten,
  kSqueeze,
  kUnsqueeze,
  kTranspose,
  kExpand,
  kTile,
  kSlice,
  kPad,
  kShape,
  kSize,
  kResize,
  kGather,
  kGatherQuantized,  // rows of packed weights
  kGatherElements,
  kGatherNd,
  kScatterElements,
  kScatterNd,
  kMatMul,
  kGemm,
  kEinsum,
  kRecurrent,
  kReverseSequence,
  kLoss,
  kRegions,      // RoiAlign: rows that name their image
  kPoolIndices,  // MaxPool, which may return indices into the whole tensor
  kUnpool,
  kAffineGrid,
  kCenterCropPad,
  kDynamicQuantize,
  kQuantize,  // QuantizeLinear, DequantizeLinear
  kConvInteger,
  kDropout,
  kIf,
  kLoop,
  kScan,
  kSequenceMap,
  kSequence,  // makes or takes apart sequences and optionals; each item holds all samples
  kLength,    // of a sequence, or whether an optional holds something
  kLike,      // operand 0 gives a shape only
  kNone,      // cannot: `why` says so
};

struct Batching {
  BatchKind kind = BatchKind::kNone;
  int64_t axis = 0;           // kAxis: the axis where the attribute is missing; kLastAxes: how many
  std::string_view why = {};  // kNone: "its output's size depends on its data"
  // kBatchFirst, kLastAxes: a letter for each operand, the last one for all that follow.
  //   b  holds samples in axis 0
  //   1  holds samples in axis 1
  //   m  a mask of up to four axes that broadcasts to [batch, heads, queries, keys]
  //   o  as b, but one number for all samples where it has one axis
  //   s  the same for all samples
  std::string_view operands = "bs";
  std::string_view outputs = "b";  // kBatchFirst: the same, b or 1

  char operand(int i) const { return at(operands, i); }
  char output(int i) const { return at(outputs, i); }

 private:
  static char at(std::string_view letters, int i) {
    return letters[std::min(static_cast<size_t>(i), letters.size() - 1)];
  }
};

// How to batch an operator. One that nothing is said about is kNone.
Batching batching_of(std::string_view domain, std::string_view name);

// The tables behind it, a file for each domain.
struct BatchingRow {
  std::string_view name;
  Batching batching;
};
std::span<const BatchingRow> microsoft_batching();
std::span<const BatchingRow> ml_batching();

}  // namespace thaw::ops
