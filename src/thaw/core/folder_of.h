// The folder that a file is in, as a path that can be opened.
#pragma once

#include <filesystem>

namespace thaw {

// "." where the file's path names none.
inline std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

}  // namespace thaw
