// Masks of attention in the one form that operators take.
#pragma once

#include <optional>
#include <string>

#include "thaw/optimize/attention/heads.h"

namespace thaw::optimizing {

// All masks as one that is added: [batch or 1, heads or 1, queries or 1, keys], in the type of q. A null value where there
// is none; nullopt, and why, where one does not fit.
std::optional<Shaped> added_mask(const FoundScores& scores, const FoundHeads& heads, const infer::Inference& facts,
                                 const ops::Emit& at, std::string& why);

// The same with a row for each query, which kernels ask for. There are as many queries as `counted` has along its axis.
Shaped with_rows(const Shaped& mask, const FoundHeads& heads, ir::Value* counted, int64_t axis, const ops::Emit& at);

}  // namespace thaw::optimizing
