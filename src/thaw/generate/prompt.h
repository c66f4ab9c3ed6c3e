// A prompt as what the models of a built folder are fed: token ids with placeholders, the tower's inputs, positions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/generate.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/rope_positions.h"
#include "thaw/media/preset.h"
#include "thaw/media/text/tokenizer.h"

namespace thaw::generating {

struct Prompt {
  std::vector<int64_t> ids;  // a placeholder for each of the tower's rows
  Arrays arrays;             // of files and clips, by the tower's inputs; more than it takes
  RopePositions positions;
  bool has_files = false, is_of_tokens = false;
  double audio_seconds = 0;
};

// Of options.files, .clips, .frame_rate, and one of .prompt, .text and .tokens.
class PromptMaker {
 public:
  explicit PromptMaker(const BuiltFolder& built);

  // Throws thaw::Error for options that do not go together, for files without a tower, without a tokenizer where words are given,
  // and as InputMaker does.
  Prompt make(const GenerateOptions& options);
  // Empty without a tokenizer.
  std::string text(const std::vector<int64_t>& tokens) const;

 private:
  PreparedInputs prepared(const GenerateOptions& options);
  std::string prompt_of_words(const GenerateOptions& options) const;
  std::vector<Pictures> pictures_of(const PreparedInputs& fed, const GenerateOptions& options) const;
  float step_of_time(const GenerateOptions& options) const;
  void open_tokenizer(bool is_needed);

  const BuiltFolder& built_;
  std::optional<media::Preset> preset_;
  std::unique_ptr<media::Tokenizer> tokenizer_;
  bool tokenizer_was_sought_ = false;
};

}  // namespace thaw::generating
