#include "thaw/core/folder_lock.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "thaw/core/error.h"

namespace thaw {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);
constexpr auto kPause = std::chrono::milliseconds(2);

}  // namespace

// False where another holds it, or has just let it go.
bool FolderLock::take(const std::filesystem::path& folder) {
  folder_ = UniqueFd(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  file_ = UniqueFd(::openat(folder_.get(), kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!file_) return true;
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    file_.reset();  // a file system without locks
    return true;
  }
  // By its path, as the folder may be another by now.
  struct stat mine{}, named{};
  return ::fstat(file_.get(), &mine) == 0 && ::stat((folder / kLockFile).c_str(), &named) == 0 &&
         mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!take(folder)) {
    file_.reset();
    if (std::chrono::steady_clock::now() > until)
      throw Error(ErrorCode::kCannotWrite, {.what = "another call has been putting files in place there for a minute",
                                            .where = folder.string(),
                                            .expected = "a folder that one call at a time writes to",
                                            .next = "wait for the other call, or choose another folder"});
    std::this_thread::sleep_for(kPause);
  }
}

FolderLock::~FolderLock() {
  if (file_) ::unlinkat(folder_.get(), kLockFile, 0);
}

}  // namespace thaw
