#include "thaw/media/audio/shared_library.h"

#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::media {

SharedLibrary::SharedLibrary(std::string name, std::string package)
    : name_(std::move(name)), package_(std::move(package)), handle_(dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr)
    throw Error(ErrorCode::kRuntimeMissing, {.what = name_ + " cannot be opened",
                                             .expected = "the library that reads audio",
                                             .next = "install it; Debian has it in " + package_});
}

void* SharedLibrary::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr)
    throw Error(ErrorCode::kRuntimeMissing, {.what = fmt::format("{} has no function {}", name_, name),
                                             .next = "install a newer one; Debian has it in " + package_});
  return found;
}

}  // namespace thaw::media
