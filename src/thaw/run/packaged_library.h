// A shared library that a Python package carries, opened when it is first needed (dlopen): linked, it and what it stands on would
// be loaded at each start of the command. It is looked for, in this order:
//
//   in the package, where this library or the program lies in a package onnx_thaw beside it
//   where the system's loader looks
//   in the package, where a Python of the environment has it: it is asked once
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace thaw::run {

struct PackagedLibrary {
  std::string name;       // that the system's loader knows it by: "libsndfile.so.1"
  std::string package;    // as it is imported: "_soundfile_data"
  std::string file;       // what the library's name in the package begins with: "libsndfile"
  std::string is_needed;  // what for: "to read recordings"
  std::string install;    // how it is installed, for messages
};

// The shared libraries in a folder and those below it whose names begin so, in the order of their paths.
std::vector<std::filesystem::path> libraries_below(const std::filesystem::path& folder, const std::string& file);

// Open until the process ends.
class OpenedLibrary {
 public:
  // Throws thaw::Error (kRuntimeMissing).
  explicit OpenedLibrary(PackagedLibrary library);

  // Sets `function` to the library's of that name. Throws thaw::Error (kRuntimeMissing) where it has none.
  template <typename Function>
  void find(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  PackagedLibrary library_;
  std::filesystem::path path_;
  void* handle_ = nullptr;
};

}  // namespace thaw::run
