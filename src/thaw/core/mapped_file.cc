#include "thaw/core/mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "thaw/core/confined.h"
#include "thaw/core/error.h"
#include "thaw/core/file_state.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/core/read_files.h"

namespace thaw {
namespace {

// The live mappings by their end, for release_pages: advising memory that is not a mapping of a file would clear it.
struct Mappings {
  ForkMutex mutex;
  struct Mapping {
    uintptr_t begin;
    const char* name;
    int fd;
    std::optional<FileState> opened;  // none: it is only looked at
  };
  std::map<uintptr_t, Mapping> by_end;
};

Mappings& mappings() {
  static Mappings* const all = new Mappings;  // never destroyed: files may outlive static destruction
  return *all;
}

uintptr_t page_size() {
  static const auto size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer; map() refuses it then.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    throw Error(ErrorCode::kCannotRead, {.what = std::string("cannot be opened: ") + std::strerror(errno),
                                         .where = path.string(),
                                         .expected = "a file that can be read",
                                         .next = errno == ENOENT ? "check the path" : "check the file's permissions"});
  }
  return map(std::move(fd), path.string());
}

std::shared_ptr<const MappedFile> MappedFile::map(UniqueFd fd, std::string name) {
  require_inside(fd.get(), name);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) {
    throw Error(ErrorCode::kCannotRead,
                {.what = std::string("cannot be examined: ") + std::strerror(errno), .where = name});
  }
  if (!S_ISREG(info.st_mode)) {
    throw Error(ErrorCode::kCannotRead, {.what = S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file",
                                         .where = name,
                                         .expected = "a regular file",
                                         .next = "name the file itself"});
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<size_t>(info.st_size);
  file->device_ = info.st_dev;
  file->inode_ = info.st_ino;
  file->name_ = std::move(name);
  if (file->size_ != 0) {
    void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) {
      throw Error(ErrorCode::kCannotRead,
                  {.what = std::string("cannot be mapped: ") + std::strerror(errno), .where = file->name_});
    }
    file->data_ = static_cast<const std::byte*>(data);
    const auto begin = reinterpret_cast<uintptr_t>(data);
    Mappings& all = mappings();
    std::lock_guard lock(all.mutex);
    const bool counts = !ReadFiles::is_paused();
    all.by_end[begin + file->size_] = {begin, file->name_.c_str(), fd.get(),
                                       counts ? state_of(fd.get(), "", AT_EMPTY_PATH) : std::nullopt};
  }
  ReadFiles::note(fd.get(), file->name_);
  file->fd_ = std::move(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  {
    Mappings& all = mappings();
    std::lock_guard lock(all.mutex);
    all.by_end.erase(reinterpret_cast<uintptr_t>(data_) + size_);
  }
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void release_pages(std::span<const std::byte> bytes) {
  if (bytes.size() < page_size()) return;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t end = begin + bytes.size();
  Mappings& all = mappings();
  std::lock_guard lock(all.mutex);
  const auto found = all.by_end.upper_bound(begin);
  if (found == all.by_end.end() || found->second.begin > begin || found->first < end) return;
  // The pages at both ends are given back too: what shares them is read again from the file when it is touched.
  const uintptr_t from = begin & ~(page_size() - 1);
  ::madvise(reinterpret_cast<void*>(from), end - from, MADV_DONTNEED);
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr size_t kChunk = size_t{4} << 20;
  if (a.size() != b.size()) return false;
  bool same = true;
  for (size_t at = 0; same && at < a.size(); at += kChunk) {
    const auto left = a.subspan(at, std::min(kChunk, a.size() - at)), right = b.subspan(at, left.size());
    same = std::memcmp(left.data(), right.data(), left.size()) == 0;
    release_pages(left);
    release_pages(right);
  }
  return same;
}

void require_mapped_unchanged() {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  for (const auto& [end, mapping] : all.by_end) {
    const std::optional<FileState> now =
        mapping.opened ? state_of(mapping.fd, "", AT_EMPTY_PATH) : std::optional<FileState>();
    if (now && *now != *mapping.opened) throw ReadFiles::changed(mapping.name);
  }
}

const char* mapped_file_at(const void* address) noexcept {
  Mappings& all = mappings();
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock) return nullptr;
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto found = all.by_end.upper_bound(at);
  return found == all.by_end.end() || found->second.begin > at ? nullptr : found->second.name;
}

}  // namespace thaw
