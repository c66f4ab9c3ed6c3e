#include "thaw/run/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

constexpr uint64_t kGrain = uint64_t{1} << 16;  // sizes are multiples of it: the next arrays may be a little larger

[[noreturn]] void refuse_sharing(uint64_t size) {
  throw Error(
      ErrorCode::kOutOfBudget,
      {.what = std::to_string(size) + " bytes cannot be shared with ONNX Runtime's process: " + std::strerror(errno),
       .next = "give the process more memory, or run at smaller sizes"});
}

}  // namespace

SharedFile::SharedFile(uint64_t size) : size_((std::max<uint64_t>(size, 1) + kGrain - 1) / kGrain * kGrain) {
  file_ = UniqueFd(::memfd_create("thaw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0 ||
      ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    refuse_sharing(size);
}

void SharedFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};  // it is only read
    const ssize_t written = ::pwritev(file_.get(), &part, 1, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse_sharing(bytes.size());
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

SharedView::SharedView(UniqueFd file) {
  struct stat status{};
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  // Of a file that shrinks, a page that is gone would end the process.
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || ::fstat(file.get(), &status) != 0 || status.st_size <= 0) {
    throw Error(ErrorCode::kRuntimeFailed, {.what = "ONNX Runtime's process sent a file that is not shared memory"});
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (data == MAP_FAILED) refuse_sharing(size);
  bytes_ = {static_cast<std::byte*>(data), size};
}

SharedView& SharedView::operator=(SharedView&& other) noexcept {
  if (this != &other) {
    unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

void SharedView::unmap() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
  bytes_ = {};
}

}  // namespace thaw::run
