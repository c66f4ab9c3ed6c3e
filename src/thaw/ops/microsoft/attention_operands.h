// What attention of com.microsoft asks of the operands beside query, key and value.
//
// ONNX Runtime compares their sizes with those of the scores before it computes anything (CheckInputs of its kernels).
#pragma once

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// The sizes of the scores, [batch, heads, queries, total]: total counts the keys, those of the past included. What is
// not known is unknown, and nothing is stated of it.
struct Scores {
  dim::Dim batch, heads, queries, total;
};

// A mask of integers: [batch] (lengths), [2 * batch] (ends and starts), [3 * batch + 2], [batch, total], [batch, queries,
// total], or [batch, 1, longest, longest]. `one_for_all`: [batch, 1] and [1, 1] stand for no mask.
void require_mask(Context& ctx, int input, const Scores& scores, bool one_for_all);

// A bias that is added to the scores: [batch or 1, heads or 1, queries, total].
void require_score_bias(Context& ctx, int input, const Scores& scores);

// past_key and past_value, [batch, heads, past, size] each. What is known of `past` and the rest afterwards.
dim::Dim require_past(Context& ctx, int key, int value, dim::Dim batch, dim::Dim heads, dim::Dim size);

}  // namespace thaw::ops
