// Attention as an operator.
#pragma once

#include "thaw/optimize/attention/bands.h"
#include "thaw/optimize/attention/caches.h"
#include "thaw/optimize/attention/masks.h"
#include "thaw/optimize/context.h"

namespace thaw::optimizing {

struct FoundAttention {
  FoundHeads heads;
  Shaped mask = {};  // [batch or 1, heads or 1, queries or 1, keys]; a null value: none
  double scale = 1, softcap = 0;
  bool is_guarded = false;        // 0 where all scores are masked by minus infinity, where kernels return NaN or 0
  std::optional<Band> band = {};  // what the mask leaves, where that is all there is to it
  std::optional<FoundCache> cache = {};  // that the operator joins itself
};

// The operator's outputs.
struct WrittenAttention {
  Shaped result;  // [batch, heads, queries, value width], or without the axis that the queries have none of
  ir::Value *keys = nullptr, *values = nullptr;  // those of the cache and the new ones; null without a cache
};

// What the target has it as: "MultiHeadAttention".
std::string_view attention_operator(const FoundAttention& found, OptimizeTarget target);

// Whether the target's operator takes the cache; why, where it does not.
bool takes_cache(const FoundAttention& found, OptimizeTarget target, std::string& why);

WrittenAttention write_attention(const FoundAttention& found, OptimizeTarget target, const ops::Emit& at);

}  // namespace thaw::optimizing
