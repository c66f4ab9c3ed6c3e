// How exporters write many heads at once, and the one form that attention is written from.
#pragma once

#include <optional>
#include <string>

#include "thaw/optimize/attention/scores.h"

namespace thaw::optimizing {

// The axes of scores.
enum class HeadsView : uint8_t {
  kFour,        // [batch, heads, queries, keys]
  kMerged,      // [batch * heads, queries, keys]: the Reshapes before tell the two apart
  kFolded,      // [batch, heads of keys, queries of the group, keys]
  kGrouped,     // [batch, heads of keys, group, queries, keys]
  kWindows,     // [images, windows of each, heads, queries, keys] of a batch of windows; of scores on the way alone
  kHeadsFirst,  // [heads, queries, keys] of one batch
  kBatchFirst,  // [batch, queries, keys] of one head; also where nothing tells batch and heads apart
};

struct FoundHeads {
  // [batch, heads, positions, width]; [heads, positions, width] of kHeadsFirst; [batch, positions, width] of kBatchFirst.
  Shaped query, key, value;
  HeadsView view = HeadsView::kFour;    // of the product of q and k
  HeadsView result = HeadsView::kFour;  // of the product with v
  int64_t heads = 1, kv_heads = 1;      // kv_heads < heads: heads / kv_heads of the queries share one of the keys
  int64_t width = 0, value_width = 0;
  double scale = 1;  // that stood on q and k

  dim::Dim batch() const { return view == HeadsView::kHeadsFirst ? dim::Dim(1) : query.dim(0); }
  dim::Dim queries() const { return query.from_back(2); }
  dim::Dim keys() const { return key.from_back(2); }
};

// `weights` is what is multiplied with `values`. nullopt where heads and sizes are not those of attention.
std::optional<FoundHeads> find_heads(const FoundScores& scores, const MatrixProduct& values, bool merges_heads,
                                     bool is_reshaped, const infer::Inference& facts, const ops::Emit& at,
                                     std::string& why);

// The view of scores whose shape is given; nullopt where they are none that is known.
std::optional<HeadsView> view_of_scores(const FoundHeads& heads, const ops::Fact& scores);

// Keys or values [batch, kv heads, positions, width] of which each head was repeated for the queries of its group;
// nullopt where none was.
std::optional<Shaped> without_repeats(const Shaped& x, int axis, const infer::Inference& facts, const ops::Emit& at);

// Before two axes were merged: [batch, heads, m, n] of [batch * heads, m, n].
std::optional<Shaped> unmerged(const Shaped& x, const infer::Inference& facts);

}  // namespace thaw::optimizing
