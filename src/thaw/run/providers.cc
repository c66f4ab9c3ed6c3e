#include "thaw/run/providers.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/fork_mutex.h"

namespace thaw::run {
namespace {

constexpr std::string_view kProviderEnding = "executionprovider";

// Names as ONNX Runtime's source compares them, letter by letter; packages as of November 2026.
constexpr std::array kKnown = {
    KnownProvider{"cpu", "CPU", "onnxruntime"},
    KnownProvider{"cuda", "CUDA", "onnxruntime-gpu", "'onnxruntime-gpu[cuda,cudnn]'"},
    KnownProvider{"tensorrt", "TensorRT", "onnxruntime-gpu", "'onnxruntime-gpu[cuda,cudnn]' tensorrt"},
    KnownProvider{"nvtensorrtrtx", "NvTensorRtRtx", "onnxruntime-ep-nv-tensorrt-rtx"},
    KnownProvider{"openvino", "OpenVINO", "onnxruntime-openvino"},
    KnownProvider{"webgpu", "WebGPU", "onnxruntime-ep-webgpu"},
    KnownProvider{"ggml", "ggml", "onnxruntime-ggml"},
    KnownProvider{"qnn", "QNN", "onnxruntime-qnn"},
    KnownProvider{"migraphx", "MIGraphX", "onnxruntime-migraphx"},
    KnownProvider{"rocm", "ROCM", "onnxruntime-rocm"},
    KnownProvider{"cann", "CANN", "onnxruntime-cann"},
    KnownProvider{"dml", "DML", "onnxruntime-directml"},
    KnownProvider{"coreml", "CoreML", "onnxruntime"},
    KnownProvider{"xnnpack", "XNNPACK", ""},
    KnownProvider{"dnnl", "DNNL", ""},
    KnownProvider{"vitisai", "VitisAI", ""},
    KnownProvider{"snpe", "SNPE", ""},
    KnownProvider{"acl", "ACL", ""},
    KnownProvider{"azure", "AZURE", "onnxruntime"},
    KnownProvider{"webnn", "WEBNN", ""},
    KnownProvider{"js", "JS", ""},
};

ForkMutex& providers_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

std::vector<Provider>& providers_of_process() {  // guarded by it
  static auto& providers = *new std::vector<Provider>;
  return providers;
}

}  // namespace

std::string provider_word(std::string_view name) {
  std::string word;
  for (const char c : name)
    if (const char small = ascii::to_lower(c); ascii::is_letter_or_digit(static_cast<unsigned char>(small)))
      word.push_back(small);
  if (word.size() > kProviderEnding.size() && word.ends_with(kProviderEnding))
    word.resize(word.size() - kProviderEnding.size());
  return word;
}

std::string short_provider(std::string_view name) {
  constexpr std::string_view kWritten = "ExecutionProvider";
  if (name.size() > kWritten.size() && name.ends_with(kWritten)) name.remove_suffix(kWritten.size());
  return std::string(name);
}

std::span<const KnownProvider> known_providers() { return kKnown; }

const KnownProvider* find_known_provider(std::string_view word) {
  const auto found = std::ranges::find(kKnown, word, &KnownProvider::word);
  return found == kKnown.end() ? nullptr : &*found;
}

void set_providers(std::vector<Provider> providers) {
  // What is wrong with them is said now, not by the first session.
  static_cast<void>(with_settled_providers({.providers = providers}));
  const std::lock_guard lock(providers_mutex());
  providers_of_process() = std::move(providers);
}

std::vector<Provider> process_providers() {
  const std::lock_guard lock(providers_mutex());
  return providers_of_process();
}

bool have_other_providers() {
  return !std::ranges::all_of(process_providers(), [](const Provider& one) { return provider_word(one.name) == kCpu; });
}

SessionOptions with_settled_providers(SessionOptions options) {
  if (options.providers.empty()) options.providers = process_providers();
  std::vector<std::string> words;
  for (const Provider& provider : options.providers) {
    std::string word = provider_word(provider.name);
    if (word.empty())
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' names no execution provider", provider.name),
                                                .where = "provider",
                                                .expected = "a name, such as cuda or openvino"});
    if (std::ranges::find(words, word) != words.end())
      throw Error(ErrorCode::kInvalidArgument, {.what = "is given twice",
                                                .where = fmt::format("provider '{}'", provider.name),
                                                .expected = "each provider once",
                                                .next = "give all of its options together: NAME:OPTION=VALUE,…"});
    if (word == kCpu && !provider.options.empty())
      throw Error(
          ErrorCode::kInvalidArgument,
          {.what = "has options", .where = "provider 'cpu'", .expected = "cpu alone", .next = "leave them out"});
    if (!words.empty() && words.back() == kCpu)
      throw Error(ErrorCode::kInvalidArgument, {.what = "stands behind cpu, which takes every node",
                                                .where = fmt::format("provider '{}'", provider.name),
                                                .expected = "cpu as the last",
                                                .next = "name it before cpu"});
    words.push_back(std::move(word));
  }
  std::erase_if(options.providers, [](const Provider& one) { return provider_word(one.name) == kCpu; });
  return options;
}

std::string describe(std::span<const Provider> providers) {
  std::string text;
  for (const Provider& provider : providers) {
    if (!text.empty()) text += ", ";
    text += provider_word(provider.name);
    char before = ':';
    for (const auto& [name, value] : provider.options) {
      text += fmt::format("{}{}={}", before, name, value);
      before = ',';
    }
  }
  return text;
}

std::string describe(const Runtime& runtime) {
  std::string text;
  for (const UsedProvider& provider : runtime.providers) {
    text += (text.empty() ? "" : ", ") + short_provider(provider.name);
    if (!provider.device.empty()) text += " (" + provider.device + ")";
    for (const auto& [option, value] : provider.options) text += fmt::format(" {}={}", option, value);
  }
  return fmt::format("{}, ONNX Runtime {}", text.empty() ? "the CPU" : text, runtime.version);
}

}  // namespace thaw::run
