// Calls that are ended before they are done (thaw::set_cancelled): long loops look.
#pragma once

#include <atomic>

namespace thaw {

namespace core {
inline std::atomic<bool> calls_are_cancelled{false};
[[noreturn]] void throw_cancelled();
}  // namespace core

inline bool is_cancelled() { return core::calls_are_cancelled.load(std::memory_order_relaxed); }

// Throws thaw::Cancelled.
inline void throw_if_cancelled() {
  if (is_cancelled()) core::throw_cancelled();
}

}  // namespace thaw
