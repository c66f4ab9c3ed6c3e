#include "thaw/core/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "thaw/core/confined.h"
#include "thaw/core/error.h"
#include "thaw/core/folder_of.h"
#include "thaw/core/hold_signals.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/read_files.h"
#include "thaw/core/replace_files.h"
#include "thaw/core/scratch_folder.h"

namespace thaw {
namespace {

constexpr size_t kCopyBuffer = size_t{1} << 20;

[[noreturn]] void shorter(const std::string& source) {
  throw Error(ErrorCode::kCannotRead, {.what = "is shorter than it was",
                                       .where = source,
                                       .expected = "a file that nobody writes to while it is copied",
                                       .next = "load the model again"});
}

}  // namespace

void AtomicFile::fail(const char* what) const {
  throw Error(ErrorCode::kCannotWrite,
              {.what = std::string(what) + ": " + std::strerror(errno),
               .where = path_.string(),
               .expected = "a folder that can be written to, with room for the file",
               .next = errno == ENOSPC ? "make room or choose another disk" : "check the folder and its permissions"});
}

AtomicFile::AtomicFile(const std::filesystem::path& path, Existing existing) : path_(path), existing_(existing) {
  const std::filesystem::path parent = folder_of(path);
  const std::string name = path.filename().string();
  folder_ = UniqueFd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) fail("its folder cannot be opened");
  require_may_write(folder_.get(), path_);
  mode_t mode = 0666;
  bool replaces = false;
  struct stat info{};
  if (::fstatat(folder_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(info.st_mode)) {
      throw Error(ErrorCode::kCannotWrite,
                  {.what = S_ISLNK(info.st_mode) ? "is a symbolic link" : "is not a regular file",
                   .where = path_.string(),
                   .expected = "a new file, or a regular one to replace",
                   .next = "choose another path"});
    }
    if (ReadFiles::contains(folder_.get(), name.c_str()))
      throw Error(ErrorCode::kInvalidArgument, {.what = "is a file that is read, which would be replaced",
                                                .where = path_.string(),
                                                .expected = "another file",
                                                .next = "name another file to write"});
    // What a model's author wrote must not come to run as whoever set these.
    if ((info.st_mode & (S_ISUID | S_ISGID)) != 0) {
      throw Error(ErrorCode::kCannotWrite, {.what = "has a set-user-id or set-group-id bit",
                                            .where = path_.string(),
                                            .expected = "a new file, or an ordinary one to replace",
                                            .next = "choose another path, or take the bit away (chmod ug-s)"});
    }
    mode = info.st_mode & 0777;
    replaces = true;
  } else if (errno != ENOENT) {
    fail("cannot be examined");
  }
  // Its name comes by way of /proc; where that is not mounted it could have none.
  if (::access("/proc/self/fd", X_OK) == 0)
    fd_ = UniqueFd(::openat(folder_.get(), ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode));
  if (!fd_) open_named(mode);
  lock_now(fd_.get());  // a file system without locks keeps what a killed process leaves
  if (replaces) static_cast<void>(::fchmod(fd_.get(), mode));  // past the umask; a file system without modes is fine
}

void AtomicFile::open_named(unsigned mode) {
  for (;;) {
    temporary_ = temporary_name();
    fd_ =
        UniqueFd(::openat(folder_.get(), temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd_ && errno == EEXIST) continue;
    if (!fd_) break;
    // Who looked at it before it was locked took it for a leftover.
    const bool is_locked = lock_now(fd_.get()) || errno != EWOULDBLOCK;
    struct stat info{};
    if (is_locked && ::fstat(fd_.get(), &info) == 0 && info.st_nlink > 0) return;
  }
  temporary_.clear();
  fail("cannot be written");
}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlinkat(folder_of_temporary(), temporary_.c_str(), 0);
}

void AtomicFile::expect_bulk() {
  if (!bulk_ && size_ % DirectWriter::kAlignment == 0) bulk_ = std::make_unique<DirectWriter>(fd_.get(), size_);
}

void AtomicFile::end_bulk() {
  if (bulk_ && !bulk_->finish()) fail("cannot be written");
  bulk_.reset();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (bulk_) {
    if (!bulk_->write(bytes)) fail("cannot be written");
    size_ += bytes.size();
    return;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      const int error = errno;
      // The system reads for us here, and says so where the process itself would get SIGBUS.
      if (const char* source = error == EFAULT ? mapped_file_at(bytes.data()) : nullptr) shorter(source);
      errno = error;
      fail("cannot be written");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
}

void AtomicFile::seek_end() {
  if (::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0 ||
      ::lseek(fd_.get(), static_cast<off_t>(size_), SEEK_SET) < 0) {
    fail("cannot be written");
  }
}

void AtomicFile::pad_to(uint64_t alignment) {
  const uint64_t rest = size_ % alignment;
  if (rest == 0) return;
  if (bulk_) return write(std::vector<std::byte>(alignment - rest));
  size_ += alignment - rest;
  seek_end();
}

void AtomicFile::append(int fd, uint64_t offset, uint64_t size, const std::string& source) {
  end_bulk();
  const uint64_t start = size_, end = offset + size;
  struct stat info{};
  // Past the end of a file there are no holes, only an end.
  if (::fstat(fd, &info) != 0 || end < offset || end > static_cast<uint64_t>(info.st_size)) shorter(source);
  for (uint64_t at = offset; at < end;) {
    // The next stretch of data; a file system that knows no holes calls all of it data.
    const off_t data = ::lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // a hole to the end
    const uint64_t from = data < 0 ? at : std::min(static_cast<uint64_t>(data), end);
    if (from >= end) break;
    const off_t hole = data < 0 ? -1 : ::lseek(fd, static_cast<off_t>(from), SEEK_HOLE);
    const uint64_t to = hole < 0 ? end : std::min(static_cast<uint64_t>(hole), end);
    if (start + (from - offset) != size_) {
      size_ = start + (from - offset);
      seek_end();
    }
    copy(fd, from, to - from, source);
    at = to;
  }
  if (size_ != start + size) {
    size_ = start + size;
    seek_end();
  }
}

void AtomicFile::copy(int fd, uint64_t offset, uint64_t size, const std::string& source) {
  auto at = static_cast<off_t>(offset);
  std::unique_ptr<std::byte[]> buffer;  // once the system refuses to copy between these files
  while (size > 0) {
    ssize_t copied;
    if (!buffer) {
      copied = ::copy_file_range(fd, &at, fd_.get(), nullptr, size, 0);
      if (copied < 0 && errno != EINTR && errno != ENOSPC) {
        buffer.reset(new std::byte[kCopyBuffer]);
        continue;
      }
      if (copied < 0 && errno == EINTR) continue;
      if (copied < 0) fail("cannot be written");
      if (copied == 0) {  // some file systems say so instead of refusing
        buffer.reset(new std::byte[kCopyBuffer]);
        continue;
      }
      size_ += static_cast<uint64_t>(copied);
    } else {
      copied = ::pread(fd, buffer.get(), std::min<uint64_t>(size, kCopyBuffer), at);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) {
        if (copied == 0) shorter(source);
        throw Error(ErrorCode::kCannotRead, {.what = std::string("cannot be read: ") + std::strerror(errno),
                                             .where = source,
                                             .next = "fetch the file again"});
      }
      write({buffer.get(), static_cast<size_t>(copied)});
      at += copied;
    }
    size -= static_cast<uint64_t>(copied);
  }
}

void AtomicFile::flush() {
  if (flushed_) return;
  end_bulk();
  if (::fsync(fd_.get()) != 0) fail("cannot be flushed to the disk");
  flushed_ = true;
}

bool AtomicFile::link_as(int folder, const std::string& name) const {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
  return ::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// A temporary name for a file without one: only a rename takes the place of another file, and it needs a name.
void AtomicFile::give_name() {
  do {
    temporary_ = temporary_name();
    if (link_as(folder_.get(), temporary_)) return;
  } while (errno == EEXIST);
  // A file system that makes nameless files and gives them no names: its content goes to one with a name.
  const UniqueFd nameless = std::move(fd_);
  struct stat info{};
  if (::fstat(nameless.get(), &info) != 0) fail("cannot be examined");
  open_named(info.st_mode & 0777);
  static_cast<void>(::fchmod(fd_.get(), info.st_mode & 0777));
  const uint64_t size = size_;
  size_ = 0;
  append(nameless.get(), 0, size, path_.string());
  if (::fsync(fd_.get()) != 0) fail("cannot be flushed to the disk");
}

void AtomicFile::move_to(const std::string& name) {
  const auto move = [&](unsigned flags) {
    return ::renameat2(folder_of_temporary(), temporary_.c_str(), folder_.get(), name.c_str(), flags) == 0;
  };
  bool moved = false;
  if (existing_ == Existing::kRefuse) {
    moved = move(RENAME_NOREPLACE);
    if (!moved && (errno == EINVAL || errno == ENOSYS)) {
      // A file system that cannot promise it: looking first is the best that is left.
      errno = EEXIST;
      moved = ::faccessat(folder_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0 && move(0);
    }
  } else {
    moved = ::renameat(folder_of_temporary(), temporary_.c_str(), folder_.get(), name.c_str()) == 0;
  }
  if (!moved) refuse_place();
  temporary_.clear();
}

void AtomicFile::refuse_place() const {
  if (errno != EEXIST) fail("cannot be put in place");
  throw Error(ErrorCode::kCannotWrite, {.what = "somebody else has made a file of that name meanwhile",
                                        .where = path_.string(),
                                        .expected = "one program at a time that writes there",
                                        .next = "call again once the other is done, or name another file to write"});
}

// The folder of its path may be another than the one that was there: another call has replaced it.
void AtomicFile::find_folder() {
  const std::filesystem::path parent = folder_of(path_);
  struct stat known{}, there{};
  if (::fstat(folder_.get(), &known) == 0 && ::stat(parent.c_str(), &there) == 0 && known.st_dev == there.st_dev &&
      known.st_ino == there.st_ino)
    return;
  UniqueFd now(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!now) return;  // it has a new name: the one that is open is still the folder
  if (!temporary_.empty() && !elsewhere_) elsewhere_ = std::move(folder_);
  folder_ = std::move(now);
}

void AtomicFile::place() {
  find_folder();
  ReadFiles::forget(fd_.get(), "");  // who looked at it under another name
  const std::string name = path_.filename().string();
  const bool nameless = temporary_.empty();
  if (nameless && link_as(folder_.get(), name)) return;
  if (nameless && errno == EEXIST && existing_ == Existing::kRefuse) refuse_place();
  if (existing_ == Existing::kReplace) ReadFiles::forget(folder_.get(), name.c_str());
  const HoldSignals hold;  // between the two names
  if (nameless) give_name();
  move_to(name);
}

// The name itself must outlast a power cut; a file system that cannot flush folders has done what it can.
void AtomicFile::flush_folder() const {
  if (::fsync(folder_.get()) == 0 || errno == EINVAL) return;
  fail("is in place, but its folder cannot be flushed to the disk");
}

void AtomicFile::publish() {
  flush();
  ReadFiles::require_unchanged();
  find_folder();
  clear_leftovers(folder_of(path_));
  place();
  flush_folder();
}

FileState AtomicFile::state() const {
  const std::optional<FileState> state = state_of(fd_.get(), "", AT_EMPTY_PATH);
  if (!state) fail("cannot be examined");
  return *state;
}

bool AtomicFile::name_in(const std::filesystem::path& folder) {
  const std::string name = path_.filename().string();
  ReadFiles::forget(fd_.get(), "");
  UniqueFd there(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!there) return false;
  const bool named = temporary_.empty()
                         ? link_as(there.get(), name)
                         : ::renameat(folder_of_temporary(), temporary_.c_str(), there.get(), name.c_str()) == 0;
  if (!named) return false;
  temporary_ = name;
  elsewhere_ = std::move(there);
  return true;
}

std::filesystem::path AtomicFile::sibling_name() {
  if (temporary_.empty()) give_name();
  return path_.parent_path() / temporary_;
}

void write_whole(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.publish();
}

void write_whole(const std::filesystem::path& path, std::string_view text) {
  write_whole(path, std::as_bytes(std::span(text)));
}

void make_folder(const std::filesystem::path& folder) {
  require_may_write(folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) return;
  throw Error(ErrorCode::kCannotWrite, {.what = "cannot be made: " + error.message(),
                                        .where = folder.string(),
                                        .expected = "a folder, or a path where one can be made",
                                        .next = "choose another folder, or check the permissions of the one above it"});
}

}  // namespace thaw
