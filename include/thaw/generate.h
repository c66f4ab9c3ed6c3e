// Text from a folder of models that `build` wrote with BuildOptions::kv_cache: tower, embedding and decoder together.
//
//   thaw::Generated answer = thaw::generate("onnx", {.files = {"photo.jpg"}, .prompt = "What is this?"});
//   std::cout << answer.text;
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/export.h"
#include "thaw/report.h"
#include "thaw/run.h"

namespace thaw {

struct GenerateOptions {
  // Whose config.json, tokenizer and processor count; empty: those that lie in the folder.
  std::filesystem::path checkpoint = {};
  std::vector<std::filesystem::path> files = {};  // images, or recordings, in the order of the prompt
  std::vector<std::vector<std::filesystem::path>> clips =
      {};                                 // Qwen's: frames of videos, in their order; after the images
  std::optional<double> frame_rate = {};  // frames a second of the clips; needed by Qwen2.5-VL and Qwen3-VL
  // One of the three: what a user says, for the checkpoint's chat template to make a prompt of, files before words; the whole
  // prompt, as the template writes it; the whole prompt as token ids, with one placeholder for each file, of Qwen3-VL's clips
  // for each group of frames.
  std::string prompt = {};
  std::optional<std::string> text = {};
  std::vector<int64_t> tokens = {};
  int64_t max_new_tokens = 256;
  SessionOptions session = {};
  // Each token as it comes, with the text that it completes: characters of several tokens come with the last of them.
  std::function<void(int64_t token, std::string_view text)> progress = {};
};

struct Generated {
  std::vector<int64_t> tokens;  // without the one that ends the text
  std::string text;             // empty where the checkpoint has no tokenizer
  bool has_ended = false;       // by the model, not by max_new_tokens
  int64_t prompt_tokens = 0;
  double seconds = 0;           // from the first file to the last token; models are open by then
  double seconds_to_first = 0;  // of these, until the first token
  double recorded_seconds = 0;  // of the recordings
};

// Greedy: each token is the one of the largest logit. Throws thaw::Error for a folder that lacks a model or whose decoder has no
// cache, for files and texts as inputs() does, and where a model does not run.
THAW_API Generated generate(const std::filesystem::path& folder, const GenerateOptions& options);

THAW_API std::string to_json(const Generated& made);
THAW_API std::string to_text(const Generated& made, const TextOptions& how = {});  // what it took, in one line

}  // namespace thaw
