// The tokenizer of onnxruntime-genai (onnxruntime-extensions), in the worker. Internal to run/: what others use is
// run/tokenize.h.
//
// The library is opened when it is first needed. Searched: the environment variable THAW_ONNXRUNTIME_GENAI (the library or
// its folder), beside ONNX Runtime, in the package onnxruntime_genai beside ONNX
// Runtime's or onnx_thaw, the system's loader.
#pragma once

#include <filesystem>
#include <vector>

#include "thaw/run/worker_messages.h"

namespace thaw::run {

// Where the library is looked for, beside one of these that are ONNX Runtime's before all.
std::vector<std::filesystem::path> genai_candidates(const std::vector<std::filesystem::path>& runtimes);

// The tokenizer that was opened last is kept: a text that grows token by token is decoded at each.
Tokenized genai_tokenize(const TokenizeRequest& request);

}  // namespace thaw::run
