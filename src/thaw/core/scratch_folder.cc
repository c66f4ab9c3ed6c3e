#include "thaw/core/scratch_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "thaw/core/error.h"

namespace thaw {
namespace {

constexpr std::string_view kEnd = ".tmp", kDigits = "0123456789abcdef";
constexpr size_t kRandomBytes = 8;
constexpr const char* kNames = "names";

std::string_view start_of(Temporary kind) { return kind == Temporary::kFolderToBe ? ".thaw-set-" : ".thaw-"; }

[[noreturn]] void cannot_make(const std::filesystem::path& folder) {
  throw Error(ErrorCode::kCannotWrite, {.what = std::string("no folder can be made in it: ") + std::strerror(errno),
                                        .where = folder.string(),
                                        .expected = "a folder that can be written to"});
}

}  // namespace

bool is_temporary_name(std::string_view name, Temporary kind) {
  const std::string_view start = start_of(kind);
  if (name.size() != start.size() + 2 * kRandomBytes + kEnd.size() || !name.starts_with(start) || !name.ends_with(kEnd))
    return false;
  const std::string_view digits = name.substr(start.size(), 2 * kRandomBytes);
  return std::ranges::all_of(digits, [](char c) { return kDigits.find(c) != std::string_view::npos; });
}

std::string temporary_name(Temporary kind) {
  unsigned char bytes[kRandomBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    throw Error(ErrorCode::kCannotWrite, {.what = "no random bytes for a temporary file's name"});
  }
  std::string name(start_of(kind));
  for (const unsigned char byte : bytes) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name.append(kEnd);
}

bool lock_now(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool is_held(const std::filesystem::path& folder, const std::string& name,
             std::span<const std::filesystem::path> mine) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!is_temporary_name(entry.path().filename().string()) || std::ranges::find(mine, entry.path()) != mine.end() ||
        !std::filesystem::exists(entry.path() / kNames / name, none))
      continue;
    const UniqueFd scratch(::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (scratch && !lock_now(scratch.get())) return true;
  }
  return false;
}

// False where it was taken for a leftover before it was locked, or the name was there.
bool ScratchFolder::make(const std::filesystem::path& parent, Temporary kind) {
  path_ = parent / temporary_name(kind);
  if (::mkdir(path_.c_str(), 0700) != 0) {
    if (errno == EEXIST) return false;
    cannot_make(parent);
  }
  lock_ = UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock_) {
    if (errno == ENOENT) return false;
    const int error = errno;
    ::rmdir(path_.c_str());
    errno = error;
    cannot_make(parent);
  }
  if (!lock_now(lock_.get()) && errno == EWOULDBLOCK) return false;
  struct stat mine{}, named{};
  return ::fstat(lock_.get(), &mine) == 0 && ::stat(path_.c_str(), &named) == 0 && mine.st_ino == named.st_ino;
}

ScratchFolder::ScratchFolder(const std::filesystem::path& parent, Temporary kind) {
  while (!make(parent, kind)) {
  }
}

std::filesystem::path ScratchFolder::folder(const char* name) const {
  std::filesystem::path made = path_ / name;
  if (::mkdir(made.c_str(), 0700) != 0 && errno != EEXIST) cannot_make(path_);
  return made;
}

bool ScratchFolder::reserve(const std::string& name) const {
  if (is_held(path_.parent_path(), name, {{path_}})) return false;
  hold(name);
  return true;
}

void ScratchFolder::hold(const std::string& name) const {
  const UniqueFd made(::open((folder(kNames) / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!made) cannot_make(path_);
}

ScratchFolder::~ScratchFolder() {
  std::error_code none;  // the next one takes it away
  if (!leaves_) std::filesystem::remove_all(path_, none);
}

}  // namespace thaw
