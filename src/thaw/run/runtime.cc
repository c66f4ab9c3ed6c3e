#include "thaw/run/runtime.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>
#include <unistd.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libonnxruntime.so.1";
constexpr const char* kVariable = "THAW_ONNXRUNTIME";
constexpr const char* kNoTelemetry = "ORT_DISABLE_TELEMETRY";

struct Loaded {
  fs::path path;
};

std::optional<Loaded> g_loaded;  // guarded by the mutex of load_runtime
std::mutex g_mutex;

// The folder of the running executable; empty where the system does not tell.
fs::path executable_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

}  // namespace

std::vector<fs::path> runtime_candidates() {
  if (const char* chosen = std::getenv(kVariable); chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    if (!fs::is_directory(chosen, error)) return {chosen};
    return {fs::path(chosen) / kLibrary, fs::path(chosen) / "libonnxruntime.so"};
  }
  std::vector<fs::path> paths;
  if (const fs::path folder = executable_folder(); !folder.empty()) {
    paths.push_back(folder / kLibrary);
    paths.push_back(folder / ".." / "lib" / kLibrary);
    paths.push_back(folder / ".." / kLibrary);  // of the worker's program, which has a folder in lib
  }
#ifdef THAW_ONNXRUNTIME_LIBRARY
  paths.emplace_back(THAW_ONNXRUNTIME_LIBRARY);
#endif
  paths.emplace_back(kLibrary);
  return paths;
}

namespace {

// The library's entry point, or why there is none.
const OrtApi* open_library(const fs::path& path, Loaded& loaded, std::string& reason) {
  std::error_code error;
  if (path.has_parent_path() && !fs::exists(path, error)) {
    reason = "not there";
    return nullptr;
  }
  // RTLD_LOCAL: its copies of protobuf and ONNX must not meet ours. It stays open: sessions may live to the end.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* message = dlerror();
    reason = message != nullptr ? message : "cannot be opened";
    // Of a bare name: none of that name is there. Else it is one that the library needs.
    if (reason.starts_with(path.string() + ": cannot open shared object file: No such")) reason = "not there";
    return nullptr;
  }
  using GetApiBase = const OrtApiBase*(ORT_API_CALL*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) {
    reason = "is not ONNX Runtime";
    dlclose(handle);
    return nullptr;
  }
  const OrtApiBase* base = get_base();
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    reason =
        std::string("is version ") + base->GetVersionString() + ", too old for API " + std::to_string(ORT_API_VERSION);
    dlclose(handle);
    return nullptr;
  }
  Dl_info info{};
  loaded.path =
      dladdr(reinterpret_cast<void*>(get_base), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : path;
  return api;
}

// What the system's loader says where memory ran out; it has no number for it.
bool lacks_space(std::string_view reason) {
  return reason.find("failed to map segment") != std::string_view::npos ||
         reason.find("annot allocate") != std::string_view::npos ||
         reason.find("annot create") != std::string_view::npos;
}

const Loaded& loaded_runtime() {
  const std::lock_guard lock(g_mutex);
  if (g_loaded) return *g_loaded;
  // Official builds report to their maker what is run, under an identifier that they leave in the user's folders. Whoever
  // wants that sets the variable to 0.
  ::setenv(kNoTelemetry, "1", /*overwrite=*/0);
  std::string tried;
  for (const fs::path& path : runtime_candidates()) {
    Loaded loaded;
    std::string reason;
    if (const OrtApi* api = open_library(path, loaded, reason); api != nullptr) {
      Ort::InitApi(api);
      return g_loaded.emplace(std::move(loaded));
    }
    if (lacks_space(reason)) {
      throw Error(ErrorCode::kOutOfBudget, {.what = "ONNX Runtime: " + reason,
                                            .where = path.string(),
                                            .expected = "memory to load it",
                                            .next = "give the process more memory"});
    }
    tried += (tried.empty() ? "" : "; ") + path.string() + ": " + reason;
  }
  throw Error(ErrorCode::kRuntimeMissing,
              {.what = "ONNX Runtime cannot be loaded (" + tried + ")",
               .expected = "libonnxruntime.so.1 of version 1." + std::to_string(ORT_API_VERSION) + " or later",
               .next = std::string("set ") + kVariable + " to the library's path"});
}

}  // namespace

void load_runtime() { loaded_runtime(); }

fs::path runtime_path() { return loaded_runtime().path; }

}  // namespace thaw::run
