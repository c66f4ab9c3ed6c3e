#include "thaw/run/ort_providers.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/run/device_name.h"
#include "thaw/run/provider_access.h"
#include "thaw/run/runtime.h"
#include "thaw/run/young_api.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

std::mutex g_libraries_mutex;
std::optional<std::map<std::string, fs::path>> g_settled_libraries;  // by word; guarded by it
std::set<fs::path> g_registered;                                     // guarded by it

fs::path library_of(const std::string& word) {
  {
    const std::lock_guard lock(g_libraries_mutex);
    if (g_settled_libraries) {
      const auto found = g_settled_libraries->find(word);
      return found == g_settled_libraries->end() ? fs::path() : found->second;
    }
  }
  return provider_library(word, sites_of_runtime());
}

// Options as the interface takes them.
struct KeysAndValues {
  std::vector<const char*> keys, values;

  explicit KeysAndValues(const std::map<std::string, std::string>& options) {
    for (const auto& [key, value] : options) {
      if (key == kLibraryOption || key == kHardwareOption) continue;
      keys.push_back(key.c_str());
      values.push_back(value.c_str());
    }
  }
};

// Of providers that the generic call does not take: a structure of their own, which is made, filled and given.
template <typename Own, typename Make, typename Update, typename Append, typename Release>
void append_own(const KeysAndValues& given, Ort::SessionOptions& options, Make make, Update update, Append append,
                Release release) {
  Own* made = nullptr;
  Ort::ThrowOnError(make(&made));
  const std::unique_ptr<Own, Release> own(made, release);
  // Also without options: of a library that cannot be loaded this says why, and the next call that it cannot.
  Ort::ThrowOnError(update(own.get(), given.keys.data(), given.values.data(), given.keys.size()));
  Ort::ThrowOnError(append(options, own.get()));
}

void append_built_in(const std::string& word, const std::string& name, const Provider& provider,
                     Ort::SessionOptions& options) {
  const OrtApi& api = Ort::GetApi();
  const KeysAndValues given(provider.options);
  if (word == "cuda")
    return append_own<OrtCUDAProviderOptionsV2>(
        given, options, api.CreateCUDAProviderOptions, api.UpdateCUDAProviderOptions,
        api.SessionOptionsAppendExecutionProvider_CUDA_V2, api.ReleaseCUDAProviderOptions);
  if (word == "tensorrt")
    return append_own<OrtTensorRTProviderOptionsV2>(
        given, options, api.CreateTensorRTProviderOptions, api.UpdateTensorRTProviderOptions,
        api.SessionOptionsAppendExecutionProvider_TensorRT_V2, api.ReleaseTensorRTProviderOptions);
  if (word == "rocm")
    return append_own<OrtROCMProviderOptions>(
        given, options, api.CreateROCMProviderOptions, api.UpdateROCMProviderOptions,
        api.SessionOptionsAppendExecutionProvider_ROCM, api.ReleaseROCMProviderOptions);
  if (word == "cann")
    return append_own<OrtCANNProviderOptions>(
        given, options, api.CreateCANNProviderOptions, api.UpdateCANNProviderOptions,
        api.SessionOptionsAppendExecutionProvider_CANN, api.ReleaseCANNProviderOptions);
  if (word == "dnnl")
    return append_own<OrtDnnlProviderOptions>(
        given, options, api.CreateDnnlProviderOptions, api.UpdateDnnlProviderOptions,
        api.SessionOptionsAppendExecutionProvider_Dnnl, api.ReleaseDnnlProviderOptions);
  const KnownProvider* const known = find_known_provider(word);
  const std::string generic = known != nullptr ? std::string(known->name) : short_provider(name);
  Ort::ThrowOnError(api.SessionOptionsAppendExecutionProvider(options, generic.c_str(), given.keys.data(),
                                                              given.values.data(), given.keys.size()));
}

// The kinds of devices, as the interface numbers them.
constexpr std::array<std::string_view, 3> kDeviceKinds = {"cpu", "gpu", "npu"};
constexpr std::array kPreferred = {1, 2, 0};

struct Device {
  const OrtEpDevice* device = nullptr;
  int kind = 0;
  std::string text;  // "GPU NVIDIA, H100"
};

std::string kind_name(int kind) {
  const bool is_known = kind >= 0 && static_cast<size_t>(kind) < kDeviceKinds.size();
  std::string name = is_known ? std::string(kDeviceKinds[static_cast<size_t>(kind)]) : fmt::format("device {}", kind);
  std::ranges::transform(name, name.begin(), [](char c) { return ascii::to_upper(c); });
  return name;
}

std::string description_of(const PluginApi& api, const OrtHardwareDevice* hardware) {
  const char *const *keys = nullptr, *const *values = nullptr;
  size_t count = 0;
  const OrtKeyValuePairs* const metadata = api.metadata_of(hardware);
  if (metadata != nullptr) api.keys_and_values(metadata, &keys, &values, &count);
  for (size_t i = 0; i < count; ++i)
    if (std::string_view(keys[i]) == "Description") return values[i];
  return {};
}

std::vector<Device> devices_of(const PluginApi& api, const OrtEnv* env, const std::string& word) {
  const OrtEpDevice* const* found = nullptr;
  size_t count = 0;
  Ort::ThrowOnError(api.devices(env, &found, &count));
  std::vector<Device> devices;
  for (size_t i = 0; i < count; ++i) {
    if (provider_word(api.provider_of(found[i])) != word) continue;
    const OrtHardwareDevice* const hardware = api.hardware_of(found[i]);
    Device device{.device = found[i], .kind = api.type_of(hardware), .text = {}};
    device.text = kind_name(device.kind);
    const char* const vendor = api.vendor_of(hardware);
    if (vendor != nullptr && *vendor != 0) device.text += fmt::format(" {}", vendor);
    if (const std::string text = description_of(api, hardware); !text.empty()) device.text += fmt::format(", {}", text);
    devices.push_back(std::move(device));
  }
  return devices;
}

// The first of the kind that is asked for, or of the kind that comes first.
const Device& choose_device(const std::vector<Device>& devices, const Provider& provider) {
  const auto asked = provider.options.find(kHardwareOption);
  for (const int kind : kPreferred) {
    if (asked != provider.options.end() && ascii::to_lower(asked->second) != ascii::to_lower(kind_name(kind))) continue;
    const auto found = std::ranges::find(devices, kind, &Device::kind);
    if (found != devices.end()) return *found;
  }
  std::vector<std::string> names;
  for (const Device& device : devices) names.push_back(device.text);
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("has no device '{}'", asked == provider.options.end() ? "" : asked->second),
               .where = fmt::format("provider '{}'", provider.name),
               .expected = fmt::format("gpu, npu or cpu, of what it has: {}", fmt::join(names, "; ")),
               .next = "name another, or leave the option out"});
}

UsedProvider append_from_library(const fs::path& library, const std::string& word, const Provider& provider,
                                 Ort::Env& env, Ort::SessionOptions& options) {
  const OrtApi* const table = runtime_api(PluginApi::kVersion);
  if (table == nullptr)
    throw Error(ErrorCode::kRuntimeMissing,
                {.what = fmt::format("ONNX Runtime {} takes no providers that are libraries "
                                     "of their own",
                                     runtime_version()),
                 .where = fmt::format("provider '{}', {}", provider.name, library.string()),
                 .expected = "ONNX Runtime 1.22 or later",
                 .next = "pip install --upgrade onnxruntime"});
  const PluginApi api(table);
  {
    const std::lock_guard lock(g_libraries_mutex);
    if (!g_registered.contains(library)) {
      Ort::ThrowOnError(api.add_library(env, word.c_str(), library.c_str()));
      g_registered.insert(library);
    }
  }
  const std::vector<Device> devices = devices_of(api, env, word);
  if (devices.empty())
    throw Error(ErrorCode::kRuntimeMissing, {.what = "finds no device that it runs on",
                                             .where = fmt::format("provider '{}', {}", provider.name, library.string()),
                                             .expected = "a device, and the driver that its maker has for it",
                                             .next = "where it is there, run without the sandbox, by --no-sandbox"});
  const Device& device = choose_device(devices, provider);
  const KeysAndValues given(provider.options);
  Ort::ThrowOnError(
      api.append(options, env, &device.device, 1, given.keys.data(), given.values.data(), given.keys.size()));
  return {.name = api.provider_of(device.device), .device = device.text, .options = provider.options};
}

[[noreturn]] void refuse_missing(const Provider& provider, const std::string& word,
                                 const std::vector<std::string>& there) {
  std::vector<std::string> words;
  for (const std::string& name : there) words.push_back(provider_word(name));
  const KnownProvider* const known = find_known_provider(word);
  std::string next, meant;
  if (known == nullptr) {
    std::vector<std::string_view> all;
    for (const KnownProvider& one : known_providers()) all.push_back(one.word);
    meant = did_you_mean(word, all);
  }
  if (known == nullptr)
    next = "name one of these, or its library: NAME:library=FILE.so";
  else if (known->package.empty())
    next = "build ONNX Runtime with it and name it with --onnxruntime PATH (THAW_ONNXRUNTIME)";
  else
    next = fmt::format(
        "pip install {}, and where that is in another environment, name it with --onnxruntime PATH "
        "(THAW_ONNXRUNTIME)",
        known->package);
  throw Error(ErrorCode::kRuntimeMissing,
              {.what = fmt::format("ONNX Runtime {} has no provider '{}'{}", runtime_version(), provider.name, meant),
               .where = runtime_path().string(),
               .expected = fmt::format("one of {}", fmt::join(words, ", ")),
               .next = std::move(next)});
}

}  // namespace

void settle_provider_libraries(std::span<const std::string> words) {
  std::map<std::string, fs::path> libraries;
  const std::vector<fs::path> sites = sites_of_runtime();
  for (const std::string& word : words) libraries[word] = provider_library(word, sites);
  const std::lock_guard lock(g_libraries_mutex);
  g_settled_libraries = std::move(libraries);
}

std::vector<UsedProvider> append_providers(std::span<const Provider> providers, Ort::Env& env,
                                           Ort::SessionOptions& options) {
  std::vector<UsedProvider> used;
  if (providers.empty()) return used;
  const std::vector<std::string> there = Ort::GetAvailableProviders();
  for (const Provider& provider : providers) {
    const std::string word = provider_word(provider.name);
    const auto named = provider.options.find(kLibraryOption);
    const auto built_in =
        std::ranges::find_if(there, [&](const std::string& name) { return provider_word(name) == word; });
    if (named == provider.options.end() && built_in != there.end()) {
      append_built_in(word, *built_in, provider, options);
      used.push_back({.name = *built_in, .device = device_name(word, provider.options), .options = provider.options});
      continue;
    }
    std::error_code failed;
    const fs::path library = named != provider.options.end() ? fs::absolute(named->second, failed) : library_of(word);
    if (library.empty()) refuse_missing(provider, word, there);
    used.push_back(append_from_library(library, word, provider, env, options));
  }
  return used;
}

}  // namespace thaw::run
