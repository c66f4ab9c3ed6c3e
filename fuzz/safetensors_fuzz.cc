// The safetensors reader on any bytes: a thaw::Error, or tensors that lie inside the file, one after the other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "thaw/core/error.h"
#include "thaw/ir/data/safetensors.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const auto file = thaw::ir::Safetensors::parse(bytes, nullptr, "fuzz");
    const std::byte* end = nullptr;
    unsigned sum = 0;
    for (const auto& entry : file.entries()) {
      require(file.find(entry.name) == &entry);
      const auto view = file.tensor(entry).bytes();
      require(view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size());
      require(end == nullptr || view.data() == end);
      end = view.data() + view.size();
      for (const std::byte byte : view) sum += static_cast<unsigned>(byte);
    }
    require(end == nullptr || end == bytes.data() + bytes.size());
    static_cast<void>(sum);
  } catch (const thaw::Error&) {
  }
  return 0;
}
