// Greedy decoding with the models of a built folder, a token at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/generate/built_folder.h"
#include "thaw/generate/decoder.h"
#include "thaw/generate/embedder.h"
#include "thaw/generate/prompt.h"
#include "thaw/run/session.h"

namespace thaw::generating {

class GreedyDecoding {
 public:
  // `opens_tower`: now, and not when the first prompt with files comes.
  GreedyDecoding(const BuiltFolder& built, const SessionOptions& options, bool opens_tower);

  // Runs the tower, where the prompt has files, and the decoder on the whole prompt: the first token behind it. Throws thaw::Error
  // (kInvalidArgument) for a token that the decoder does not have.
  int64_t first(const Prompt& prompt);
  // Goes on with this token.
  int64_t next(int64_t token);
  bool is_end(int64_t token) const { return built_.end_tokens.contains(token); }

 private:
  void require_known(const Prompt& prompt) const;
  Arrays features_of(const Prompt& prompt);

  const BuiltFolder& built_;
  SessionOptions options_;
  Embedder embedder_;
  Decoder decoder_;
  std::optional<run::Session> tower_;
  RopePositions positions_;
};

}  // namespace thaw::generating
