// The Python environment that a program or library lies in, and what its Python says of other packages there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace thaw::run {

// The folder that holds the package onnx_thaw, where `file` lies in that package: its siblings are packages too.
std::optional<std::filesystem::path> site_of(const std::filesystem::path& file);

// That of this library, or of the program that runs.
std::optional<std::filesystem::path> own_site();

// The Pythons of the environment that `file` lies in, that of its site-packages before one in its own folder.
std::vector<std::filesystem::path> pythons_of(const std::filesystem::path& file);

struct PackageAnswer {
  std::vector<std::filesystem::path> folders;  // none: there is no such package
  std::string failure;                         // why there is no answer
};

// Where `python` would import a package from, which it does not import. Its folder at work does not count. It is asked once, and
// has ten seconds, or as long as the call.
PackageAnswer ask_for_package(const std::filesystem::path& python, const std::string& package);

}  // namespace thaw::run
