// What a piece of work holds on the heap at a time, libraries' own memory included: more than `most` bytes ends the program, as
// libFuzzer's own limit does, which counts single allocations and the whole process only.
#pragma once

#include <cstdint>

namespace thaw_fuzz {

class HeldMemory {
 public:
  explicit HeldMemory(int64_t most);
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory();
};

}  // namespace thaw_fuzz
