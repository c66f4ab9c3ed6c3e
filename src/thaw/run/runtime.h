// ONNX Runtime, opened when it is first needed (dlopen, never linked): a command that runs no model does not pay for
// it.
//
// Searched in this order: the environment variable THAW_ONNXRUNTIME (the library or a folder that holds it; nothing
// else is tried when it is set), beside the executable and in ../lib of it, where the build found it, the system's
// loader.
#pragma once

#include <filesystem>
#include <vector>

namespace thaw::run {

// Where it is looked for, in this order; a bare name is the system's loader's to find.
std::vector<std::filesystem::path> runtime_candidates();

// Opens the library unless that is done already; throws thaw::Error, naming every place that was tried. Thread-safe.
void load_runtime();

// The file it was loaded from, which loads it.
std::filesystem::path runtime_path();

}  // namespace thaw::run
