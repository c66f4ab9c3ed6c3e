// A folder for files that are looked at before they take their places beside it.
//
// It goes with the object. Where the process is killed it stays, and the next one that is made in the same place takes it away:
// who uses one holds a lock on it, which the system lets go with the process.
#pragma once

#include <filesystem>
#include <string>

#include "thaw/core/fd.h"

namespace thaw {

// Of a file or folder that stands for a short time: ".thaw-0123456789abcdef.tmp".
std::string temporary_name();

// Takes away scratch folders in `parent` that nobody holds: those of processes that were killed. What cannot be taken away stays,
// and harms nobody.
void remove_abandoned_folders(const std::filesystem::path& parent);

class ScratchFolder {
 public:
  // In `parent`. Throws thaw::Error (kCannotWrite) where none can be made.
  explicit ScratchFolder(const std::filesystem::path& parent);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd lock_;
};

}  // namespace thaw
