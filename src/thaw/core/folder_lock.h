// For the moments in which files of a folder get their names: one call after the other.
//
// The lock is on a file of Thaw's own, which goes with it; one that a killed process left is taken over. Where the folder takes no such file
// calls do not wait for each other: names that must be free are still given only if they are.
#pragma once

#include <filesystem>

#include "thaw/core/fd.h"

namespace thaw {

inline constexpr const char* kLockFile = ".thaw-lock.tmp";

class FolderLock {
 public:
  // Throws thaw::Error where another holds it for a minute.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  bool take(const std::filesystem::path& folder);

  UniqueFd folder_, file_;
};

}  // namespace thaw
