// A folder of models that `thaw build --kv-cache` wrote: which there are, and what the checkpoint says of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>

#include "thaw/model/config.h"

namespace thaw::generating {

struct BuiltFolder {
  std::filesystem::path checkpoint;
  std::optional<std::filesystem::path> tower, embedding;  // vision.onnx or audio.onnx
  std::filesystem::path text;
  model::Config config;
  std::set<int64_t> end_tokens;  // of generation_config.json, else of config.json; and the tokenizer's own

  // Whether a prompt may be taken in pieces: not where rotary angles depend on how far a call reaches.
  bool splits_prompts = true;
};

// `checkpoint`: whose config.json counts; empty: the folder's own. Throws thaw::Error (kCannotRead) where the decoder or
// config.json is missing.
BuiltFolder open_built(const std::filesystem::path& folder, const std::filesystem::path& checkpoint);

}  // namespace thaw::generating
