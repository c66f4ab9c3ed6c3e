#include "thaw/ir/wire/model_hash.h"

#include <memory>
#include <string_view>

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "thaw/ir/wire/writer.h"

namespace thaw::ir {
namespace {

constexpr std::string_view kKind = "xxh3-128:";

}  // namespace

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
  return fmt::format("{}{:016x}{:016x}", kKind, hash.high64, hash.low64);
}

bool is_hash(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return text.starts_with(kKind) && text.size() == kKind.size() + 32 &&
         text.find_first_not_of(kDigits, kKind.size()) == std::string_view::npos;
}

}  // namespace thaw::ir
