// What a worker may hold, set by itself with setrlimit. Internal to run/.
//
// The limit is on data (RLIMIT_DATA): memory that the process can write to and shares with nobody. Libraries, weights
// that are mapped from files and the stacks of threads do not count.
#pragma once

#include <cstdint>
#include <mutex>

#include "thaw/core/fd.h"
#include "thaw/core/memory.h"

namespace thaw::run {

class MemoryLimit {
 public:
  MemoryLimit();

  // From now on `max_memory` bytes; 0: what the process holds and what the system has left, but for a margin.
  void set(uint64_t max_memory);
  // The same where it is not what was set last.
  void follow(uint64_t max_memory);
  // Bytes that a session maps or reserves without taking them: they come on top while it is open.
  void add_unused(uint64_t bytes);
  void remove_unused(uint64_t bytes);
  // Bytes of memory that is shared with Thaw and held for a session: the system does not count them, so that so many less may be
  // taken while it is open.
  void add_shared(uint64_t bytes);
  void remove_shared(uint64_t bytes);
  // What results may be large; they lie in shared memory, which the system does not count.
  uint64_t bytes() const;

 private:
  void set_locked(uint64_t max_memory);
  void apply();
  uint64_t data_bytes() const;

  // Open before the sandbox is there.
  AvailableMemory available_;
  UniqueFd sizes_;  // of this process
  mutable std::mutex mutex_;
  uint64_t given_;       // the limit that the process was started under
  uint64_t wanted_ = 0;  // what it was set to
  uint64_t bytes_ = 0;   // what that came to
  uint64_t unused_ = 0;
  uint64_t shared_ = 0;
};

// Bytes of the stack that each new thread reserves.
uint64_t thread_stack_bytes();

}  // namespace thaw::run
