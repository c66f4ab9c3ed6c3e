// The folder that a call writes to, made before there is anything to put in it: a path where none can be made costs no
// work. Of the folders that it made, those that are empty in the end are removed.
#pragma once

#include <filesystem>
#include <vector>

namespace thaw {

class NewFolder {
 public:
  // Makes `folder` and those above it where they are not there; none for an empty path. Throws thaw::Error
  // (kCannotWrite).
  explicit NewFolder(const std::filesystem::path& folder);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

 private:
  std::vector<std::filesystem::path> made_;  // the deepest first
};

}  // namespace thaw
