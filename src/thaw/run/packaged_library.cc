#include "thaw/run/packaged_library.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/run/own_file.h"
#include "thaw/run/python.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

struct Opened {
  void* handle = nullptr;
  fs::path path;
  std::string failures;  // why those that are there do not open
};

bool open_first(const std::vector<fs::path>& candidates, Opened& opened) {
  for (const fs::path& path : candidates) {
    opened.path = path;
    opened.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (opened.handle != nullptr) return true;
    if (const char* const failure = dlerror(); failure != nullptr && path.has_parent_path())
      opened.failures += fmt::format("; {}", failure);
  }
  return false;
}

// Those that the Pythons near this library and the program would import from.
std::vector<fs::path> folders_by_asking(const std::string& package) {
  std::vector<fs::path> folders;
  for (const fs::path& near : {own_program(), own_file()})
    for (const fs::path& python : pythons_of(near))
      for (const fs::path& folder : ask_for_package(python, package).folders) folders.push_back(folder);
  return folders;
}

Opened open_anywhere(const PackagedLibrary& library) {
  Opened opened;
  const auto is_in = [&](const fs::path& folder) { return open_first(libraries_below(folder, library.file), opened); };
  const auto site = own_site();
  if (site && is_in(*site / library.package)) return opened;
  if (open_first({library.name}, opened)) return opened;
  for (const fs::path& folder : folders_by_asking(library.package))
    if (is_in(folder)) return opened;
  return opened;
}

}  // namespace

std::vector<fs::path> libraries_below(const fs::path& folder, const std::string& file) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(file) && (name.ends_with(".so") || name.find(".so.") != std::string::npos))
      found.push_back(at->path());
  }
  std::ranges::sort(found);
  return found;
}

OpenedLibrary::OpenedLibrary(PackagedLibrary library) : library_(std::move(library)) {
  Opened opened = open_anywhere(library_);
  handle_ = opened.handle;
  path_ = std::move(opened.path);
  if (handle_ == nullptr)
    throw Error(ErrorCode::kRuntimeMissing, {.what = library_.name + " is not found" + opened.failures,
                                             .where = {},
                                             .expected = "the library that is needed " + library_.is_needed,
                                             .next = library_.install});
}

void* OpenedLibrary::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr)
    throw Error(ErrorCode::kRuntimeMissing, {.what = fmt::format("the library has no function {}", name),
                                             .where = path_.string(),
                                             .expected = library_.name,
                                             .next = library_.install});
  return found;
}

}  // namespace thaw::run
