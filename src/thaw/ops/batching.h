// What an operator needs to be told when its operands gain a batch axis: the batch rule's data.
//
// A model for one sample becomes a model for a batch by giving every operator whose operands depend on the sample the
// same operator, or others, over all samples at once (vmap, as in JAX). Operators fall into a few kinds by how they
// treat axes; the rewrites, one for each kind, are in batch/.
#pragma once

#include <cstdint>
#include <string_view>

#include "thaw/ops/registry.h"

namespace thaw::ops {

enum class BatchKind : uint8_t {
  kElementwise,  // operands broadcast: axes are counted from the end
  kBatchFirst,   // axis 0 of operand 0 holds samples that do not meet: Conv, pools, DepthToSpace, attention
  kAxis,         // one attribute `axis`; operand 0 alone depends on samples, or all operands have the same shape
  kCumulative,   // operand 1 is the axis
  kReduce,       // `axes` as attribute or operand 1, with keepdims
  kConcat,
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
  kGatherElements,
  kGatherNd,
  kScatterElements,
  kScatterNd,
  kMatMul,
  kGemm,
  kEinsum,
  kRecurrent,
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
  int64_t axis = 0;           // kAxis: the axis where the attribute is missing
  std::string_view why = {};  // kNone: "its output's size depends on its data"
};

// How to batch an operator. One that nothing is said about is kNone.
Batching batching_of(std::string_view domain, std::string_view name);

}  // namespace thaw::ops
