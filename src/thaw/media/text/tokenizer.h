// Text as token ids, by the tokenizer of onnxruntime-genai (onnxruntime-extensions), which reads a checkpoint's
// tokenizer.json and tokenizer_config.json.
//
// The worker runs it (run/tokenize.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace thaw::media {

// Special tokens in the text count as such; none is added (transformers' add_special_tokens=False). Throws thaw::Error:
// kCannotRead where the folder has no tokenizer.json or tokenizer_config.json, kRuntimeMissing where a library is not
// there, kRuntimeFailed for a tokenizer that the library does not take.
std::vector<int64_t> token_ids(const std::filesystem::path& checkpoint, const std::string& text);

}  // namespace thaw::media
