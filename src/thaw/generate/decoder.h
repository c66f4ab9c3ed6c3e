// A decoder with a cache, token by token.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "thaw/generate/rope_positions.h"
#include "thaw/run/session.h"

namespace thaw::generating {

class Decoder {
 public:
  // Throws thaw::Error (kUnsupported) for a model that has no past_key_values among its inputs.
  Decoder(const std::filesystem::path& model, bool splits_prompts, const SessionOptions& options);

  // Goes on with these tokens, each array [1, seq, …] by the name of an input, at these positions; the token of the largest
  // logit behind the last of them. The cache stays where the model runs.
  int64_t next(const Arrays& tokens, const RopePositions& positions);

  // How many tokens there are, where the model says it.
  std::optional<int64_t> vocabulary() const { return vocabulary_; }

 private:
  Arrays feeds_of(const Arrays& tokens, const RopePositions& positions, int64_t begin, int64_t end) const;

  std::filesystem::path path_;
  bool splits_prompts_;
  int64_t position_axes_ = 0;                   // 1 or 3; 0: the model takes none
  Arrays empty_;                                // caches of no tokens
  std::map<std::string, std::string> past_of_;  // the input that each output of the cache feeds next
  run::HeldArrays cache_;                       // by input
  std::optional<int64_t> vocabulary_;
  run::Session session_;
  int64_t past_ = 0;
};

}  // namespace thaw::generating
