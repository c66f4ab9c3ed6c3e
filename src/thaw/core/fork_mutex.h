// Mutexes of a process that may fork while its threads are at work, as Python's do for workers of their own. A fork waits until nobody
// holds one. So the process that is forked off finds them open, and what they guard whole; its one thread could wait for ever else.
#pragma once

#include <cstdint>
#include <mutex>

namespace thaw {

// Where one is taken while another is held, the first is kOuter and the second kInner.
enum class ForkRank : uint8_t { kOuter, kInner };

// Of static lifetime, and never destroyed. Held for a short time only.
class ForkMutex : public std::mutex {
 public:
  explicit ForkMutex(ForkRank rank = ForkRank::kInner);
};

}  // namespace thaw
