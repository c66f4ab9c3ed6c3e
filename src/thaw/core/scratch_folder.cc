#include "thaw/core/scratch_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "thaw/core/error.h"

namespace thaw {
namespace {

constexpr std::string_view kStart = ".thaw-", kEnd = ".tmp", kDigits = "0123456789abcdef";
constexpr size_t kRandomBytes = 8;
constexpr time_t kOldEnough = 60;  // seconds: one that was made just now may not be locked yet

bool is_temporary_name(std::string_view name) {
  if (name.size() != kStart.size() + 2 * kRandomBytes + kEnd.size() || !name.starts_with(kStart) ||
      !name.ends_with(kEnd))
    return false;
  const std::string_view digits = name.substr(kStart.size(), 2 * kRandomBytes);
  return std::ranges::all_of(digits, [](char c) { return kDigits.find(c) != std::string_view::npos; });
}

UniqueFd open_folder(const std::filesystem::path& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

void remove_abandoned_folders(const std::filesystem::path& parent) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(parent, none)) {
    if (!is_temporary_name(entry.path().filename().string())) continue;
    const UniqueFd folder = open_folder(entry.path());
    struct stat info{};
    if (!folder || ::fstat(folder.get(), &info) != 0 || ::time(nullptr) - info.st_mtime < kOldEnough) continue;
    if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(entry.path(), none);
  }
}

std::string temporary_name() {
  unsigned char bytes[kRandomBytes];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    throw Error(ErrorCode::kCannotWrite, {.what = "no random bytes for a temporary file's name"});
  }
  std::string name(kStart);
  for (const unsigned char byte : bytes) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name.append(kEnd);
}

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
  do {
    path_ = parent / temporary_name();
    if (::mkdir(path_.c_str(), 0700) == 0) lock_ = open_folder(path_);
  } while (!lock_ && errno == EEXIST);
  if (lock_ && ::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return;
  throw Error(ErrorCode::kCannotWrite, {.what = std::string("no folder can be made in it: ") + std::strerror(errno),
                                        .where = parent.string(),
                                        .expected = "a folder that can be written to"});
}

ScratchFolder::~ScratchFolder() {
  std::error_code none;  // the next one takes it away
  std::filesystem::remove_all(path_, none);
}

}  // namespace thaw
