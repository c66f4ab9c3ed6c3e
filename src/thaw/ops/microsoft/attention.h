// What the attention operators of com.microsoft share.
//
// A present state is as long as the past and the new keys together; where past and present share one buffer it is the
// past's.
#pragma once

#include <optional>
#include <string_view>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

// The axis of a tensor of that rank; unknown where it has another.
dim::Dim dim_of(const Fact& fact, int rank, int axis);
// The attribute, at least 1; unknown (and invalid) otherwise.
dim::Dim heads(Context& ctx, std::string_view name = "num_heads");
// One of so many equal parts.
dim::Dim share(Context& ctx, dim::Dim size, dim::Dim parts, std::string_view what);
void set_if_wanted(Context& ctx, int o, ir::DataType dtype, std::optional<Shape> shape);

// Attention with the projections of Q, K and V in one weight (input, q + k + v): where it has its operands.
struct Projected {
  int weights = 1, bias = 2, past = -1;
  int mask = -1, score_bias = -1;
  bool packed = false;  // input (tokens, hidden) instead of (batch, sequence, hidden)
};
void projected_attention(Context& ctx, const Projected& at, ir::DataType dtype);

// Hidden size of the output, and size of one head: a packed query holds heads + 2 * kv_heads of them. The query's
// hidden size is its axis `last`.
struct Grouped {
  dim::Dim hidden, head;
};
Grouped grouped_query(Context& ctx, int last);

}  // namespace thaw::ops
