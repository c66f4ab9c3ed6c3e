// A decoder with a cache, token by token.
#pragma once

#include <filesystem>
#include <optional>

#include "thaw/generate/decoder_inputs.h"
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
  // What comes next is the begin of another text.
  void forget();

  std::optional<int64_t> vocabulary() const { return inputs_.vocabulary(); }

 private:
  std::filesystem::path path_;
  bool splits_prompts_;
  DecoderInputs inputs_;
  run::HeldArrays cache_;  // by input
  run::Session session_;
  int64_t past_ = 0;
};

}  // namespace thaw::generating
