#include "thaw/generate/greedy.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::generating {

GreedyDecoding::GreedyDecoding(const BuiltFolder& built, const SessionOptions& options, bool opens_tower)
    : built_(built),
      options_(options),
      embedder_(built.embedding, options),
      decoder_(built.text, built.splits_prompts, options) {
  if (opens_tower && built.tower) tower_.emplace(*built.tower, options_);
}

void GreedyDecoding::require_known(const Prompt& prompt) const {
  const std::optional<int64_t> vocabulary = decoder_.vocabulary();
  const auto unknown = std::ranges::find_if(prompt.ids, [&](int64_t id) { return vocabulary && id >= *vocabulary; });
  if (unknown == prompt.ids.end()) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the model has no token {}", *unknown),
               .where = prompt.is_of_tokens ? "--tokens" : built_.checkpoint.string(),
               .expected = prompt.is_of_tokens ? fmt::format("0 to {}", *vocabulary - 1)
                                               : "the tokenizer of the checkpoint that was built"});
}

// The tower's memory is given back before the decoder runs.
Arrays GreedyDecoding::features_of(const Prompt& prompt) {
  if (!prompt.has_files) return {};
  if (!tower_) tower_.emplace(*built_.tower, options_);
  Arrays features = tower_->run(tower_->inputs_among(prompt.arrays));
  tower_.reset();
  return features;
}

int64_t GreedyDecoding::first(const Prompt& prompt) {
  require_known(prompt);
  decoder_.forget();
  positions_ = prompt.positions;
  return decoder_.next(embedder_.run(prompt.ids, features_of(prompt)), positions_);
}

int64_t GreedyDecoding::next(int64_t token) {
  for (std::vector<int64_t>& axis : positions_.axes) axis = {positions_.next};
  ++positions_.next;
  return decoder_.next(embedder_.run({token}, {}), positions_);
}

}  // namespace thaw::generating
