// What a model is measured on: files of --data, and what of `thaw inputs` says how they become inputs.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/inputs.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::verbs {

// An option of `thaw inputs` that says how images and recordings become what a model is fed, apart from which they are.
struct PreprocessingWord {
  std::string_view name;  // "--resize"
  std::string_view type;  // of its value, as `--help` shows it: "WxH", "center|corner"; empty: it has none
  std::string_view help;
  // Throws thaw::Error (kInvalidArgument) for a value that it does not take.
  void (*set)(InputsOptions& options, const std::string& text);
};

std::span<const PreprocessingWord> preprocessing_words();

// "--resize=height:48", "--no-upright": as reports have them, those of 0.2 and before with former names. Throws thaw::Error (kInvalidFile) for other words.
InputsOptions parse_preprocessing(std::span<const std::string> words);

// The files of a path as samples of the model: made as the words say, or .npz files where there are none.
quantizing::Samples open_samples(const std::filesystem::path& data, std::span<const std::string> words,
                                 const ir::Model& model);
// The same for words that may not be meant for this path: folders of .npz files are read as these.
quantizing::Samples open_reported(const std::filesystem::path& data, std::span<const std::string> words,
                                  const ir::Model& model);

}  // namespace thaw::verbs
