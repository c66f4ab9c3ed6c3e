#include "thaw/ir/wire/model_hash.h"

#include <memory>
#include <string_view>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

std::string hash_of(const Model& model) {
  const std::unique_ptr<Model> bare = clone(model);
  bare->metadata_props.clear();
  bare->metadata_wire.clear();
  TensorPlan plan;
  plan.inline_external = true;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  serialize(
      *bare, plan, [](uint64_t) {},
      [&](std::string_view bytes) { XXH3_128bits_update(&state, bytes.data(), bytes.size()); });
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return fmt::format("xxh3-128:{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace thaw::ir
