// The tokenizer of onnxruntime-genai (onnxruntime-extensions), in the worker. Internal to run/: what others use is
// run/tokenize.h.
//
// The library is opened when it is first needed. Searched: the environment variable THAW_ONNXRUNTIME_GENAI (the library or
// its folder), beside ONNX Runtime, where the build found it, the system's loader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thaw::run {

// As tokenize() has it.
std::vector<int32_t> genai_token_ids(const std::string& folder, const std::string& text);

}  // namespace thaw::run
