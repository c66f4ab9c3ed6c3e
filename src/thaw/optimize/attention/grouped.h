// Heads of queries that share heads of keys, and of which each query sees the keys up to its own: com.microsoft's
// GroupQueryAttention, which repeats no key and computes no score of a later one.
#pragma once

#include "thaw/optimize/attention/write.h"

namespace thaw::optimizing {

inline constexpr std::string_view kGroupQuery = "GroupQueryAttention";

// Whether ONNX Runtime's kernel computes just this, at every size, and faster than MultiHeadAttention with repeated keys.
// Behind a past it takes longer than that, and several new tokens of several samples it refuses. So it does no tokens, and where
// there is no sample it ends the process.
bool has_grouped_kernel(const FoundAttention& found);

WrittenAttention grouped_attention(const FoundAttention& found, const ops::Emit& at);

}  // namespace thaw::optimizing
