// A folder for files that are looked at before they take their places beside it, and for what is known of them meanwhile.
//
// It goes with the object. Where the process is killed it stays, and the next one that writes there takes it away
// (core/replace_files.h): who uses one holds a lock on it, which the system lets go with the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "thaw/core/fd.h"

namespace thaw {

// What a temporary name is for. kFolderToBe: a folder that takes the place of another.
enum class Temporary : uint8_t { kAny, kFolderToBe };

// ".thaw-0123456789abcdef.tmp", ".thaw-set-0123456789abcdef.tmp".
std::string temporary_name(Temporary kind = Temporary::kAny);
bool is_temporary_name(std::string_view name, Temporary kind = Temporary::kAny);

// A lock on an open file or folder, if no other process has one.
bool lock_now(int fd);

// Whether a call that goes on counts on a file of that name in the folder, by a scratch folder that is none of `mine`.
bool is_held(const std::filesystem::path& folder, const std::string& name, std::span<const std::filesystem::path> mine);

class ScratchFolder {
 public:
  // In `parent`. Throws thaw::Error (kCannotWrite) where none can be made.
  explicit ScratchFolder(const std::filesystem::path& parent, Temporary kind = Temporary::kAny);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }
  int fd() const { return lock_.get(); }
  // A folder in it, made when it is first asked for.
  std::filesystem::path folder(const char* name) const;
  // Whether no other call is to give a file beside the folder that name; none will from now on, nor take such a file away. Under a
  // FolderLock.
  bool reserve(const std::string& name) const;
  // The same for a file that is there: several may want it.
  void hold(const std::string& name) const;
  // It stays where it is, for others to see to.
  void leave() { leaves_ = true; }

 private:
  bool make(const std::filesystem::path& parent, Temporary kind);

  std::filesystem::path path_;
  UniqueFd lock_;
  bool leaves_ = false;
};

}  // namespace thaw
