#include "thaw/run/byte_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thaw/core/confined.h"
#include "thaw/core/error.h"
#include "thaw/core/read_files.h"

namespace thaw::run {

FileSource::FileSource(const std::filesystem::path& path) : name_(path.string()) {
  // Not waiting for a pipe's writer; whether it is a regular file is asked of the open file, not of the path.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor >= 0) {
    file_.reset(fdopen(descriptor, "rb"));
    if (!file_) close(descriptor);
  }
  if (!file_) {
    throw Error(ErrorCode::kCannotRead, {.what = std::string("cannot be opened: ") + std::strerror(errno),
                                         .where = name_,
                                         .expected = "a file that can be read"});
  }
  struct stat status{};
  if (fstat(fileno(file_.get()), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(ErrorCode::kCannotRead,
                {.what = "is not a regular file", .where = name_, .expected = "a .npy or .npz file"});
  }
  require_inside(fileno(file_.get()), path);
  ReadFiles::note(fileno(file_.get()), path);
  size_ = static_cast<uint64_t>(status.st_size);
}

size_t FileSource::read(std::span<std::byte> out) {
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), left()));
  const size_t got = std::fread(out.data(), 1, wanted, file_.get());
  at_ += got;
  if (got < wanted) {
    throw Error(ErrorCode::kInvalidFile, {.what = "cannot be read past byte " + std::to_string(at_),
                                          .where = name_,
                                          .expected = std::to_string(size_) + " bytes",
                                          .next = "check that the file is whole"});
  }
  return got;
}

void FileSource::seek(uint64_t offset) {
  if (offset > size_ || fseeko(file_.get(), static_cast<off_t>(offset), SEEK_SET) != 0) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = "points to byte " + std::to_string(offset) + " of " + std::to_string(size_),
                 .where = name_,
                 .expected = "offsets within the file"});
  }
  at_ = offset;
}

void read_exactly(ByteSource& source, std::span<std::byte> out) {
  const uint64_t left = source.left();
  if (left < out.size() || source.read(out) != out.size()) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "ends " + std::to_string(out.size() - std::min<uint64_t>(left, out.size())) + " bytes too early",
         .where = source.name(),
         .expected = "a whole array",
         .next = "write the file again"});
  }
}

}  // namespace thaw::run
