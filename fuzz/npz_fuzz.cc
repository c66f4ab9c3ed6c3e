// Any bytes read as a .npz archive and as a .npy file: arrays that the bytes account for, or one thaw::Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/run/npz.h"

namespace {

// A file in memory that can be opened by a path.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) : descriptor_(memfd_create("npz", 0)) {
    if (descriptor_ < 0 || write(descriptor_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thaw;
  const MemoryFile file(data, size);
  try {
    const Array array = run::read_npy_file(file.path());
    if (static_cast<uint64_t>(array.num_elements()) > size * 8 + (1U << 20)) std::abort();
  } catch (const Error&) {
  }
  try {
    run::NpzReader reader(file.path());
    for (const std::string& name : reader.names()) {
      const Array array = reader.read(name);
      if (array.dtype == ir::DataType::kUndefined || array.num_elements() < 0) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}
