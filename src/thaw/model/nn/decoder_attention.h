// Attention of decoders: each token attends to itself and what came before it, in its own row of the batch.
//
// Tokens stand at indices 0 … total - 1, total = past + seq: those of the cache, then the new ones. What a token sees
// is decided by indices and by attention_mask alone, so padding may stand at the left or at the right; positions
// (nn/rope.h) play no part. A token that sees nothing (padding at the left) gets some average, never NaN.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "thaw/model/nn/rope.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

struct AttentionSizes {
  int64_t heads, kv_heads, head_dim;
  int64_t group() const { return heads / kv_heads; }  // query heads that share a key head (Ainslie et al., 2023)
};

// What each token sees, as numbers to add to the scores: one tensor for each window that the layers have.
class CausalMasks {
 public:
  // attention_mask: int64 [batch, total], 0 for padding. seq, past: int64 scalars.
  CausalMasks(Var attention_mask, Var seq, Var past);

  // [batch, 1, seq, total] in the activations' type: 0, or a number that softmax makes 0 of. window: how many tokens a
  // token sees, itself among them; 0: all.
  Var for_window(int64_t window);
  Var total() const { return total_; }  // int64 scalar
  Var batch() const { return batch_; }  // int64 [1]

 private:
  Var token_;        // bool [batch, 1, 1, total]
  Var query_index_;  // int64 [seq, 1]
  Var key_index_;    // int64 [1, total]
  Var total_, batch_;
  std::map<int64_t, Var> masks_;
};

struct Cache {
  Var key, value;  // [batch, kv_heads, length, head_dim]
};

struct Attended {
  Var out;        // [batch, seq, heads * head_dim]
  Cache present;  // of the length total; empty where no cache was asked for
};

// What a layer does to queries and keys before they meet: they are normed, head by head, where `norms` says so (Qwen3),
// and rotated.
struct HeadNorms {
  Scope query, key;
  double epsilon;
};

// qkv [batch, seq, (heads + 2 * kv_heads) * head_dim]: queries, keys, values. `past` may be empty; `keep`: the present
// keys and values are wanted.
Attended attend_causally(Var qkv, const TokenRotary& rotary, const std::optional<HeadNorms>& norms, const Cache& past,
                         bool keep, Var mask, const AttentionSizes& sizes, const CausalMasks& masks);

}  // namespace thaw::model
