// Any bytes read as a .npz archive and as a .npy file: arrays that the bytes account for, or one thaw::Error;
// in twice the memory that there may be, at most.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format_mutator.h"
#include "held_memory.h"
#include "memory_file.h"

#include "thaw/core/error.h"
#include "thaw/limits.h"
#include "thaw/run/npz.h"

namespace {

constexpr int64_t kBudget = 16 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace thaw;
  set_limits({.max_memory = kBudget});
  const thaw_fuzz::HeldMemory held(2 * kBudget);
  const thaw_fuzz::MemoryFile file(data, size);
  try {
    const Array array = run::read_npy_file(file.path(), {});
    if (static_cast<uint64_t>(array.num_elements()) > size * 8 + (1U << 20)) std::abort();
  } catch (const Error&) {
  }
  try {
    run::NpzReader reader(file.path());
    for (const std::string& name : reader.names()) {
      const Array array = reader.read(name, {});
      if (array.dtype == ir::DataType::kUndefined || array.num_elements() < 0) std::abort();
    }
  } catch (const Error&) {
  }
  return 0;
}

THAW_MUTATES_FILES
