// Execution providers of ONNX Runtime by name: what Thaw knows of each, and those that this process runs models with. Which ones an
// ONNX Runtime has is asked of it (run/ort_providers.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/run.h"

namespace thaw::run {

using thaw::Provider;
using thaw::Runtime;
using thaw::UsedProvider;

inline constexpr std::string_view kCpu = "cpu";
// Options of Thaw's own.
inline constexpr const char* kLibraryOption = "library";
inline constexpr const char* kHardwareOption = "hardware";

// "cuda" of "CUDAExecutionProvider", "nv-tensorrt-rtx" or "Cuda": small letters and digits, without the ending.
std::string provider_word(std::string_view name);
// "CUDA" of "CUDAExecutionProvider": for people.
std::string short_provider(std::string_view name);

struct KnownProvider {
  std::string_view word;
  std::string_view name;     // what ONNX Runtime's generic call takes
  std::string_view package;  // of the Python package index, that has it; empty: none is known
  // What pip is given for the libraries that the provider is linked with, where the package alone does not bring them.
  std::string_view libraries = {};
};
// nullptr: one that Thaw does not know by name, which ONNX Runtime may have all the same.
const KnownProvider* find_known_provider(std::string_view word);
std::span<const KnownProvider> known_providers();

// Of the process.
void set_providers(std::vector<Provider> providers);
std::vector<Provider> process_providers();
// Whether any of them is another than the CPU.
bool have_other_providers();

// The options of a session with the providers that it comes to run on, without the CPU, which is the last of all. Throws thaw::Error for a
// provider without a name and one that stands there twice.
SessionOptions with_settled_providers(SessionOptions options);

// "cuda:device_id=1, cpu".
std::string describe(std::span<const Provider> providers);

// "OpenVINO (CPU Intel) device_type=CPU, ONNX Runtime 1.24.1"; "the CPU, ONNX Runtime 1.31.1" where nothing else ran.
std::string describe(const Runtime& runtime);

}  // namespace thaw::run
