// Masks of attention in the one form that operators take.
#pragma once

#include <optional>
#include <string>

#include "thaw/optimize/attention/heads.h"

namespace thaw::optimizing {

// All masks as one that is added: [batch or 1, heads or 1, queries or 1, keys or 1], in the type of q. A null value where
// there is none; nullopt, and why, where one does not fit. `is_reshaped`: scores or weights, on the way.
std::optional<Shaped> added_mask(const FoundScores& scores, const FoundHeads& heads, bool is_reshaped,
                                 const infer::Inference& facts, const ops::Emit& at, std::string& why);

// A value whose axis is as long as there are queries, or keys.
struct Counted {
  ir::Value* value = nullptr;
  int64_t axis = 0;
  ir::Value* past = nullptr;  // [batch, heads, positions, width], whose positions count too; null: none
};

// The same with a row for each query and a column for each key, which kernels ask for.
Shaped spread_mask(const Shaped& mask, const FoundHeads& heads, Counted queries, Counted keys, const ops::Emit& at);

}  // namespace thaw::optimizing
