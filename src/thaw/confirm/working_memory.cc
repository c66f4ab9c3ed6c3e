#include "thaw/confirm/working_memory.h"

#include <algorithm>

namespace thaw::confirm {
namespace {

constexpr uint64_t kWaiting = 3;  // measured: dense and residual networks take two to four times their largest node

uint64_t bytes_of(const ops::Fact& fact, const dim::Assignment& sizes) {
  if (!fact.shape) return 0;
  uint64_t bytes = std::max<uint64_t>(1, static_cast<uint64_t>(ir::bits_of(fact.dtype)) / 8);
  for (const dim::Dim dim : *fact.shape) {
    const auto size = dim::evaluate(dim, sizes);
    if (!size || *size <= 0) return 0;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(*size), &bytes)) return UINT64_MAX;
  }
  return bytes;
}

}  // namespace

uint64_t working_bytes(const ir::Model& model, const infer::Result& facts, const dim::Assignment& sizes) {
  uint64_t most = 0;
  for (const ir::Node* node : model.graph->nodes()) {
    uint64_t bytes = 0;
    const auto add = [&](const ir::Value* value) {
      if (value == nullptr || value->constant() != nullptr) return;
      if (__builtin_add_overflow(bytes, bytes_of(facts.fact(value), sizes), &bytes)) bytes = UINT64_MAX;
    };
    std::ranges::for_each(node->inputs(), add);
    std::ranges::for_each(node->outputs(), add);
    most = std::max(most, bytes);
  }
  return most > UINT64_MAX / kWaiting ? UINT64_MAX : most * kWaiting;
}

}  // namespace thaw::confirm
