#include "thaw/run/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "thaw/core/error.h"

namespace thaw::run {

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_.string() + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("cannot be written");
  }
  // mkostemp makes a file for its owner alone; a result is as readable as any file that the user makes.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor_, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::fail(const char* what) {
  throw Error({.what = std::string(what) + ": " + std::strerror(errno),
               .where = path_.string(),
               .expected = "a folder that exists and can be written to"});
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot be written");
    bytes = bytes.subspan(static_cast<size_t>(done));
    written_ += static_cast<uint64_t>(done);
  }
}

void OutputFile::commit() {
  if (fsync(descriptor_) != 0) fail("cannot be written to disk");
  if (close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written to disk");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be put in place");
  temporary_.clear();
}

}  // namespace thaw::run
