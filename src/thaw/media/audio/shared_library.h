// A library that few callers need, opened when one does: linked, it and the dozen that it stands on would be loaded at
// each start of the command.
#pragma once

#include <string>

namespace thaw::media {

class SharedLibrary {
 public:
  // `package` is Debian's, for the message. Throws thaw::Error (kRuntimeMissing).
  SharedLibrary(std::string name, std::string package);

  // Sets `function` to the library's of that name. The library stays open until the process ends.
  template <typename Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string name_, package_;
  void* handle_ = nullptr;
};

}  // namespace thaw::media
