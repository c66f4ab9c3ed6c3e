// Generates text with models that `build` wrote with BuildOptions::kv_cache: tower, embedding and decoder.
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
  // The folder with config.json, tokenizer and processor config; empty: the folder of the models.
  std::filesystem::path checkpoint = {};
  std::vector<std::filesystem::path> files = {};  // images or recordings, in the order of the prompt
  // Qwen's: frames of each video, in order; after the images.
  std::vector<std::vector<std::filesystem::path>> clips = {};
  std::optional<double> frame_rate = {};  // frames per second of the clips; required for Qwen2.5-VL and Qwen3-VL
  // One of three. `prompt`: the user's message, to which the chat template is applied, files before words. `text`: the whole prompt, as
  // the template writes it. `tokens`: the whole prompt as token ids, with one placeholder for each file, and for Qwen3-VL's clips for
  // each group of frames.
  std::string prompt = {};
  std::optional<std::string> text = {};
  std::vector<int64_t> tokens = {};
  int64_t max_new_tokens = 256;
  SessionOptions session = {};
  // Called for each token, with the text that it completes: a character of several tokens comes with the last of them.
  std::function<void(int64_t token, std::string_view text)> progress = {};
};

// Samples of a folder of models: prompts, each with its images, recordings or clip, and the answer that the models give. Of prompts,
// groups of files and clips, a list of one goes with each of the others.
struct PromptOptions {
  std::filesystem::path checkpoint = {};          // as GenerateOptions::checkpoint
  std::vector<std::filesystem::path> files = {};  // images or recordings; empty: words alone
  int64_t files_per_prompt = 1;                   // so many in a row go with one prompt
  // Qwen's: frames of the clip of each prompt, in order; after the images.
  std::vector<std::vector<std::filesystem::path>> clips = {};
  std::optional<double> frame_rate = {};          // as GenerateOptions::frame_rate
  std::vector<std::string> prompts = {};          // users' messages, to which the chat template is applied
  std::vector<std::vector<int64_t>> tokens = {};  // instead: whole prompts as token ids, a placeholder for each file
  int64_t answer_tokens = 16;                     // at most so many tokens of an answer are fed, and compared

  bool any() const { return !prompts.empty() || !tokens.empty(); }
  bool has_media() const { return !files.empty() || !clips.empty(); }
};

struct Generated {
  std::vector<int64_t> tokens;  // without the end-of-text token
  std::string text;             // empty where the checkpoint has no tokenizer
  bool has_ended = false;       // with an end-of-text token, not by max_new_tokens
  int64_t prompt_tokens = 0;
  double seconds = 0;                 // from the first file to the last token; without loading the models
  double seconds_to_first_token = 0;  // until the first token
  double audio_seconds = 0;           // duration of the recordings
};

// Greedy decoding. Throws thaw::Error for a folder that lacks a model or whose decoder has no cache, for files and texts as inputs()
// does, and where a model does not run.
THAW_API Generated generate(const std::filesystem::path& folder, const GenerateOptions& options);

THAW_API std::string to_json(const Generated& made);
THAW_API std::string to_text(const Generated& made, const TextOptions& how = {});  // time and rate, in one line

}  // namespace thaw
