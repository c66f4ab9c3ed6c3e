// What a model is fed, made of files: see thaw/inputs.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/inputs.h"
#include "thaw/ir/graph/model.h"
#include "thaw/media/image_model.h"
#include "thaw/media/preset.h"

namespace thaw::media {

// Placeholders in token ids, one for each kind of file: the id that stands for one in the text, and the tokens that each
// is, in their order.
struct Placeholder {
  std::string what;  // "image", for messages
  int64_t id = -1;
  std::vector<int64_t> tokens;
};

class InputMaker {
 public:
  // Reads the checkpoint's settings, or the model's inputs where no preset is named. Throws thaw::Error for options that do
  // not go together.
  explicit InputMaker(InputsOptions options);
  // For a model that is open.
  InputMaker(InputsOptions options, const ir::Model& model);

  // Throws thaw::Error where neither files, clips nor a text are given, and as reading and preparing them does.
  PreparedInputs make(std::span<const std::filesystem::path> files) const;

  // Whether a file's name says that it is one of those that are read: .jpg, .jpeg and .png, or .wav and .flac.
  bool takes(const std::filesystem::path& path) const;

 private:
  bool has_prompt() const { return options_.text || !options_.tokens.empty(); }
  void read_preset();
  std::vector<int64_t> prompt() const;
  PreparedInputs make_of_files(std::span<const std::filesystem::path> files, std::span<const int64_t> prompt) const;
  std::vector<Placeholder> placeholders_of(const PreparedInputs& made) const;
  void add_text(std::vector<int64_t> ids, PreparedInputs& made) const;
  std::vector<size_t> order_of(size_t images, std::span<const int64_t> prompt) const;
  PreparedInputs make_qwen(std::span<const std::filesystem::path> files, std::span<const int64_t> prompt) const;
  PreparedInputs make_phi4(std::span<const std::filesystem::path> files) const;

  InputsOptions options_;
  std::optional<Preset> preset_;
  std::optional<ImageInput> input_;  // where there is no preset
};

}  // namespace thaw::media
