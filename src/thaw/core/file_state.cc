#include "thaw/core/file_state.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace thaw {
namespace {

int64_t nanoseconds(const statx_timestamp& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

}  // namespace

std::optional<FileState> state_of(int folder, const char* name, int flags) {
  struct statx info{};
  constexpr unsigned kWanted = STATX_INO | STATX_BTIME | STATX_SIZE | STATX_MTIME;
  if (::statx(folder, name, flags, kWanted, &info) != 0) return std::nullopt;
  const bool has_birth = (info.stx_mask & STATX_BTIME) != 0;
  return FileState{.identity = {.major = info.stx_dev_major,
                                .minor = info.stx_dev_minor,
                                .number = info.stx_ino,
                                .birth = has_birth ? nanoseconds(info.stx_btime) : 0},
                   .size = info.stx_size,
                   .modified = nanoseconds(info.stx_mtime)};
}

}  // namespace thaw
