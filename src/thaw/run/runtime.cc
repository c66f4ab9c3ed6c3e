#include "thaw/run/runtime.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <elf.h>
#include <onnxruntime_cxx_api.h>

#include "thaw/core/call_clock.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/run/own_file.h"
#include "thaw/run/python.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnyName = "libonnxruntime.so";
constexpr const char* kLibrary = "libonnxruntime.so.1";
constexpr const char* kPackage = "onnxruntime";
constexpr const char* kVariable = "THAW_ONNXRUNTIME";
constexpr const char* kNoTelemetry = "ORT_DISABLE_TELEMETRY";
constexpr const char* kNotLoaded = "ONNX Runtime cannot be loaded";
constexpr const char* kNotThere = "not there";
constexpr const char* kTooOld = " is too old";
constexpr uint32_t kMajor = 1, kLeastMinor = ORT_API_VERSION;  // an API for each minor version

struct Loaded {
  fs::path path;
  std::string version;
  const OrtApiBase* base = nullptr;
};

std::mutex g_load_mutex;
std::optional<Loaded> g_loaded;  // guarded by it

ForkMutex& name_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

fs::path g_named;                                // guarded by it
std::optional<std::vector<fs::path>> g_settled;  // guarded by it

bool is_there(const fs::path& path) {
  std::error_code failed;
  return fs::exists(path, failed);
}

using Version = std::vector<uint32_t>;

// "1.31.1"; what is no number ends it.
Version version_of(std::string_view text) {
  Version version;
  for (const char* at = text.data(); at != text.data() + text.size(); ++at) {
    uint32_t number = 0;
    const auto [end, failed] = std::from_chars(at, text.data() + text.size(), number);
    if (failed != std::errc()) break;
    version.push_back(number);
    at = end;
    if (at == text.data() + text.size() || *at != '.') break;
  }
  return version;
}

struct NamedLibrary {
  Version version;  // by the name of the file that it is
  fs::path path, file;
};

// Those of a folder, the newest first; of names for one file that which the system's loader looks for.
std::vector<fs::path> libraries_in(const fs::path& folder) {
  std::vector<NamedLibrary> found;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kAnyName)) continue;
    const std::string_view ending = std::string_view(name).substr(kAnyName.size());
    if (!ending.empty() && (ending[0] != '.' || ending.find_first_not_of(".0123456789") != std::string_view::npos))
      continue;
    std::error_code lost;
    fs::path file = fs::canonical(at->path(), lost);
    if (lost) file = at->path();
    const std::string own = file.filename().string();
    const size_t numbers = std::min(own.find(std::string(kAnyName) + "."), own.size());
    found.push_back({version_of(std::string_view(own).substr(std::min(numbers + kAnyName.size() + 1, own.size()))),
                     at->path(), std::move(file)});
  }
  std::ranges::sort(found, [](const NamedLibrary& a, const NamedLibrary& b) {
    const auto rank = [](const NamedLibrary& one) {
      return std::pair(one.path.filename() != kLibrary, one.path.filename().string());
    };
    return a.version != b.version ? a.version > b.version : rank(a) < rank(b);
  });
  std::vector<fs::path> paths, files;
  for (NamedLibrary& one : found) {
    if (std::ranges::find(files, one.file) != files.end()) continue;
    files.push_back(std::move(one.file));
    paths.push_back(std::move(one.path));
  }
  return paths;
}

// What a file or folder that is named may be: that file, or what the folder holds, itself or in the place of its wheel.
std::vector<fs::path> libraries_at(const fs::path& named) {
  std::error_code failed;
  if (!fs::is_directory(named, failed)) return {named};
  for (const fs::path& folder : {named, named / "capi"})
    if (std::vector<fs::path> found = libraries_in(folder); !found.empty()) return found;
  return {named / kLibrary};
}

// Where it is looked for near a program or library.
std::vector<fs::path> libraries_near(const fs::path& file) {
  if (file.empty()) return {};
  const fs::path folder = file.parent_path();
  // The last is of the worker's program, which has a folder in lib.
  std::vector<fs::path> paths{folder / kLibrary, folder.parent_path() / "lib" / kLibrary,
                              folder.parent_path() / kLibrary};
  if (const auto site = site_of(file)) {
    const std::vector<fs::path> siblings = libraries_at(*site / kPackage);
    paths.insert(paths.end(), siblings.begin(), siblings.end());
  }
  return paths;
}

void add_unless_there(const std::vector<fs::path>& more, std::vector<fs::path>& paths) {
  for (const fs::path& path : more)
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
}

fs::path variable() {
  const char* chosen = std::getenv(kVariable);
  return chosen != nullptr ? chosen : "";
}

std::vector<fs::path> look_for_runtime() {
  if (const fs::path named = named_runtime(); !named.empty()) return libraries_at(named);
  std::vector<fs::path> paths = libraries_near(own_program());
  add_unless_there(libraries_near(own_file()), paths);
  paths.emplace_back(kLibrary);
  return paths;
}

}  // namespace

std::vector<fs::path> runtime_candidates() {
  {
    const std::lock_guard lock(name_mutex());
    if (g_settled) return *g_settled;
  }
  return look_for_runtime();
}

void settle_runtime_candidates() {
  std::vector<fs::path> candidates = look_for_runtime();
  const std::lock_guard lock(name_mutex());
  g_settled = std::move(candidates);
}

fs::path named_runtime() {
  fs::path chosen = variable();
  if (!chosen.empty()) return chosen;
  const std::lock_guard lock(name_mutex());
  return g_named;
}

void name_runtime_in(std::vector<std::string>& variables, const fs::path& path) {
  const std::string begin = std::string(kVariable) + "=";
  std::erase_if(variables, [&](const std::string& variable) { return variable.starts_with(begin); });
  variables.push_back(begin + path.string());
}

namespace {

void name_runtime(fs::path path) {
  const std::lock_guard lock(name_mutex());
  g_named = std::move(path);
}

}  // namespace

void set_runtime(const fs::path& path) {
  const fs::path named = path.empty() ? path : fs::absolute(path);
  if (!named.empty() && !is_there(named)) {
    throw Error(ErrorCode::kCannotRead, {.what = "is not there",
                                         .where = path.string(),
                                         .expected = "ONNX Runtime's library, or a folder that holds it",
                                         .next = "check the path, or pip install onnxruntime"});
  }
  const std::lock_guard loading(g_load_mutex);
  if (g_loaded && !named.empty()) {
    const auto is_loaded = [](const fs::path& one) {
      std::error_code failed;
      return fs::equivalent(one, g_loaded->path, failed);
    };
    if (std::ranges::none_of(libraries_at(named), is_loaded)) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "ONNX Runtime is loaded already from " + g_loaded->path.string(),
                   .where = path.string(),
                   .expected = "one ONNX Runtime in a process",
                   .next = "set it before the first session in this process is made"});
    }
  }
  name_runtime(named);
}

bool is_runtime_missing(const Error& error) {
  return error.code() == ErrorCode::kRuntimeMissing && error.parts().what.starts_with(kNotLoaded);
}

void look_further(const Error& missing, const fs::path& program) {
  if (!named_runtime().empty()) throw missing;
  std::error_code failed;
  const fs::path started = fs::canonical(program, failed), own = own_file();
  const std::vector<fs::path> tried = libraries_near(started);
  const auto is_new = [&](const fs::path& path) {
    return is_there(path) && std::ranges::find(tried, path) == tried.end();
  };
  // Of a worker that lies elsewhere.
  const std::vector<fs::path> near = libraries_near(own);
  if (const auto found = std::ranges::find_if(near, is_new); found != near.end()) return name_runtime(*found);
  std::vector<fs::path> pythons = pythons_of(started);
  add_unless_there(pythons_of(own), pythons);
  ErrorParts parts = missing.parts();
  for (const fs::path& python : pythons) {
    const PackageAnswer answer = ask_for_package(python, kPackage);
    for (const fs::path& folder : answer.folders)
      if (std::ranges::any_of(libraries_at(folder), is_new)) return name_runtime(folder);
    if (!answer.failure.empty())
      parts.what += "; " + python.string() + " " + answer.failure;
    else if (answer.folders.empty())
      parts.what += "; " + python.string() + " has no package " + kPackage;
  }
  throw Error(missing.code(), std::move(parts));
}

namespace {

// Whether all that the system's loader would map of a file is there: it asks nobody, and a process ends where it is not.
bool is_whole_library(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return true;  // the loader says why
  std::error_code failed;
  const uintmax_t size = fs::file_size(path, failed);
  Elf64_Ehdr header{};
  if (failed || !file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::string_view(reinterpret_cast<const char*>(header.e_ident), SELFMAG) != ELFMAG) return false;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  if (header.e_phoff > size || !file.seekg(static_cast<std::streamoff>(header.e_phoff))) return false;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!file.read(reinterpret_cast<char*>(&part), sizeof part)) return false;
    if (part.p_type == PT_LOAD && (part.p_filesz > size || part.p_offset > size - part.p_filesz)) return false;
  }
  return true;
}

// The library's entry point, or why there is none.
const OrtApi* open_library(const fs::path& path, Loaded& loaded, std::string& reason) {
  if (path.has_parent_path()) {
    if (!is_there(path)) {
      reason = kNotThere;
      return nullptr;
    }
    if (!is_whole_library(path)) {
      reason = "no library, or cut off";
      return nullptr;
    }
  }
  // RTLD_LOCAL: its copies of protobuf and ONNX must not meet ours. It stays open: sessions may live to the end.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* message = dlerror();
    reason = message != nullptr ? message : "cannot be opened";
    // Of a bare name: none of that name is there. Else it is one that the library needs.
    if (reason.starts_with(path.string() + ": cannot open shared object file: No such")) reason = kNotThere;
    return nullptr;
  }
  using GetApiBase = const OrtApiBase*(ORT_API_CALL*)();
  const auto get_base = reinterpret_cast<GetApiBase>(dlsym(handle, "OrtGetApiBase"));
  if (get_base == nullptr) {
    reason = "not ONNX Runtime's library";
    dlclose(handle);
    return nullptr;
  }
  const OrtApiBase* base = loaded.base = get_base();
  loaded.version = base->GetVersionString();
  // It is asked for no API that it lacks: it would print that.
  const Version version = version_of(loaded.version);
  const bool is_old = !version.empty() && version < Version{kMajor, kLeastMinor};
  const OrtApi* api = is_old ? nullptr : base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    reason = "version " + loaded.version + (is_old ? kTooOld : " has no API " + std::to_string(ORT_API_VERSION));
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

struct Refused {
  fs::path path;
  std::string reason;
};

// About those that are there; where none is, about the places.
Error not_loaded(const std::vector<Refused>& tried) {
  std::string reasons, where, places;
  for (const Refused& one : tried) {
    places += (places.empty() ? "" : ", ") + one.path.string();
    if (one.reason == kNotThere) continue;
    if (where.empty())
      where = one.path.string();
    else
      reasons += "; " + one.path.string() + ": ";
    reasons += one.reason;
  }
  const bool is_old = reasons.find(kTooOld) != std::string::npos;
  return {ErrorCode::kRuntimeMissing,
          {.what = std::string(kNotLoaded) + ": " + (where.empty() ? kNotThere : reasons),
           .where = where.empty() ? places : where,
           .expected = "ONNX Runtime " + std::to_string(kMajor) + "." + std::to_string(kLeastMinor) + " or later",
           .next = std::string("pip install onnxruntime") + (is_old ? " --upgrade" : "") + ", or set " + kVariable +
                   " to the library or its folder"}};
}

const Loaded& open_one_of(const std::vector<fs::path>& candidates) {
  std::vector<Refused> tried;
  for (const fs::path& path : candidates) {
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
    tried.push_back({path, std::move(reason)});
  }
  throw not_loaded(tried);
}

const Loaded& loaded_runtime() {
  for (bool further = false;; further = true) {
    try {
      const std::lock_guard lock(g_load_mutex);
      if (g_loaded) return *g_loaded;
      // Official builds report to their maker what is run, under an identifier that they leave in the user's folders. Whoever
      // wants that sets the variable to 0.
      ::setenv(kNoTelemetry, "1", /*overwrite=*/0);
      return open_one_of(runtime_candidates());
    } catch (const Error& error) {
      {
        const std::lock_guard lock(name_mutex());
        if (g_settled || further || !is_runtime_missing(error)) throw;  // a worker's host looks further
      }
      look_further(error, own_program());
    }
  }
}

}  // namespace

void load_runtime() { loaded_runtime(); }

fs::path runtime_path() { return loaded_runtime().path; }

std::string runtime_version() { return loaded_runtime().version; }

const OrtApi* runtime_api(uint32_t version) {
  const Loaded& loaded = loaded_runtime();
  // It would print that it lacks the version.
  return version_of(loaded.version) < Version{kMajor, version} ? nullptr : loaded.base->GetApi(version);
}

std::vector<fs::path> sites_of_runtime() {
  std::vector<fs::path> sites;
  for (const fs::path& library : runtime_candidates()) {
    std::error_code failed;
    // site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1; a file of its own may be a link to a store of packages.
    for (const fs::path& file : {library, fs::canonical(library, failed)}) {
      const fs::path folder = file.parent_path();
      if (folder.filename() == "capi") add_unless_there({folder.parent_path().parent_path()}, sites);
    }
  }
  return sites;
}

}  // namespace thaw::run
