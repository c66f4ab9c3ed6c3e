// Text as token ids, by the tokenizer of onnxruntime-genai (onnxruntime-extensions), which reads a checkpoint's
// tokenizer.json and tokenizer_config.json.
//
// The worker runs it (run/tokenize.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace thaw::media {

class Tokenizer {
 public:
  // Throws thaw::Error (kCannotRead) where the folder has no tokenizer.json or tokenizer_config.json.
  explicit Tokenizer(std::filesystem::path checkpoint);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Special tokens in the text count as such; none is added (transformers' add_special_tokens=False). This and the others throw
  // thaw::Error: kRuntimeMissing where a library is not there, kRuntimeFailed for a tokenizer that the library does not take.
  std::vector<int64_t> ids(const std::string& text) const;
  std::string text(const std::vector<int64_t>& ids) const;

  // What the checkpoint's chat template (chat_template.jinja, chat_template.json, or tokenizer_config.json's) makes of one
  // message of a user: files by their kinds ("image", "video", "audio"), then the words. Throws kCannotRead where there is no
  // template.
  std::string prompt(const std::string& words, const std::vector<std::string>& files) const;

 private:
  class LinkedFolder;
  std::filesystem::path checkpoint_;
  std::unique_ptr<LinkedFolder> folder_;
};

}  // namespace thaw::media
