// Which file it is, and which bytes it has as far as the system tells without reading them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

namespace thaw {

// The time of its birth tells a file from one that has the number of a file that is gone, where the file system keeps such
// times. Other names of the file have the same.
struct FileIdentity {
  uint32_t major = 0, minor = 0;  // of the device
  uint64_t number = 0;
  int64_t birth = 0;  // nanoseconds

  auto operator<=>(const FileIdentity&) const = default;
};

struct FileState {
  FileIdentity identity;
  uint64_t size = 0;
  int64_t modified = 0;  // nanoseconds

  bool operator==(const FileState&) const = default;
};

// Of a name in an open folder, or of AT_FDCWD; `flags` are statx's. None where no such file is.
std::optional<FileState> state_of(int folder, const char* name, int flags);

}  // namespace thaw
