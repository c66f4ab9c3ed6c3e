#include "thaw/core/read_files.h"

#include <compare>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>

namespace thaw {
namespace {

// Which file it is. The time of its birth tells it from one that has the number of a file that is gone, where the file system
// keeps such times.
struct Identity {
  uint32_t major, minor;  // of the device
  uint64_t number;
  int64_t birth;
  uint32_t birth_nanoseconds;

  auto operator<=>(const Identity&) const = default;
};

std::optional<Identity> identity_of(int folder, const char* name, int flags) {
  struct statx info{};
  if (::statx(folder, name, flags, STATX_INO | STATX_BTIME, &info) != 0) return std::nullopt;
  const bool has_birth = (info.stx_mask & STATX_BTIME) != 0;
  return Identity{info.stx_dev_major, info.stx_dev_minor, info.stx_ino, has_birth ? info.stx_btime.tv_sec : 0,
                  has_birth ? info.stx_btime.tv_nsec : 0};
}

struct Record {
  std::mutex mutex;
  int keepers = 0;
  std::set<Identity> files;
};

Record& record() {
  static Record* const all = new Record;  // never destroyed: files may be opened until the process ends
  return *all;
}

thread_local int pauses = 0;

void add(const std::optional<Identity>& file) {
  if (pauses > 0) return;
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (file && all.keepers > 0) all.files.insert(*file);
}

}  // namespace

ReadFiles::ReadFiles() {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  ++all.keepers;
}

ReadFiles::~ReadFiles() {
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (--all.keepers == 0) all.files.clear();
}

ReadFiles::Pause::Pause() { ++pauses; }
ReadFiles::Pause::~Pause() { --pauses; }

void ReadFiles::note(int fd) { add(identity_of(fd, "", AT_EMPTY_PATH)); }

void ReadFiles::note(const std::filesystem::path& path) { add(identity_of(AT_FDCWD, path.c_str(), 0)); }

void ReadFiles::release(const std::filesystem::path& path) {
  const std::optional<Identity> file = identity_of(AT_FDCWD, path.c_str(), 0);
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  if (file) all.files.erase(*file);
}

bool ReadFiles::contains(int folder, const char* name) {
  const std::optional<Identity> file = identity_of(folder, name, AT_SYMLINK_NOFOLLOW);
  Record& all = record();
  const std::lock_guard lock(all.mutex);
  return file && all.files.contains(*file);
}

}  // namespace thaw
