// Prompts that models in a folder which build() wrote with BuildOptions::kv_cache are measured on.
//
//   thaw::SensitivityReport report =
//       thaw::sensitivity("onnx", {.prompts = {.files = {"photo.jpg"}, .prompts = {"What is this?"}}}, "report");
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// Samples of a folder of models: prompts, each with at most one image or recording, and the answer that the models give. A list of one
// goes with each of the other.
struct PromptOptions {
  std::filesystem::path checkpoint = {};          // as GenerateOptions::checkpoint
  std::vector<std::filesystem::path> files = {};  // images or recordings; empty: words alone
  std::vector<std::string> prompts = {};          // users' messages, to which the chat template is applied
  std::vector<std::vector<int64_t>> tokens = {};  // instead: whole prompts as token ids, a placeholder for each file
  int64_t answer_tokens = 16;                     // at most so many tokens of an answer are fed, and compared

  bool any() const { return !prompts.empty() || !tokens.empty(); }
};

}  // namespace thaw
