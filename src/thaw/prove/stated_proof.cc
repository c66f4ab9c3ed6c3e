#include "thaw/prove/stated_proof.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "thaw/ir/wire/model_hash.h"

namespace thaw::proving {
namespace {

using Property = std::pair<std::string, std::string>;

// Takes a text off the front; false where it is not there.
bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

bool take(std::string_view& text, size_t& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

std::optional<StatedProof> stated_proof(const ir::Model& model) {
  const auto stated = std::ranges::find(model.metadata_props, kStatedProofKey, &Property::first);
  if (stated == model.metadata_props.end()) return std::nullopt;
  std::string_view text = stated->second;
  StatedProof proof;
  const bool is_read = take(text, "proven ") && take(text, proof.proven) && take(text, " of ") &&
                       take(text, proof.outputs) && take(text, " outputs, origin ");
  if (!is_read || proof.proven > proof.outputs || !ir::is_hash(text)) return std::nullopt;
  proof.origin = text;
  return proof;
}

void state_proof(ir::Model& model, const StatedProof& proof) {
  forget_proof(model);
  model.metadata_props.emplace_back(
      kStatedProofKey, fmt::format("proven {} of {} outputs, origin {}", proof.proven, proof.outputs, proof.origin));
}

void forget_proof(ir::Model& model) {
  std::erase_if(model.metadata_props, [](const Property& one) { return one.first == kStatedProofKey; });
}

}  // namespace thaw::proving
