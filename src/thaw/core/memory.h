// How much memory there is left.
#pragma once

#include <cstdint>
#include <optional>

#include "thaw/core/fd.h"

namespace thaw {

// Bytes that this process may still take without others having to make room: what the system calls available, or what
// is left to its control group where that is less. nullopt where the system does not say.
std::optional<uint64_t> available_memory();
// The same, at most what the limits of calls leave (thaw/limits.h).
std::optional<uint64_t> memory_to_take();

// The same again and again, in a process that can open no file any more.
class AvailableMemory {
 public:
  AvailableMemory();
  std::optional<uint64_t> now() const;

 private:
  UniqueFd system_, group_limit_, group_used_, group_parts_;
};

// Bytes that this process holds and no file does: its heap and stacks, and what it shares with a worker. 0 where the system does not
// say.
uint64_t held_memory();

// From now on this process takes `bytes` more at most, beside the stacks of its threads: past that memory runs out (std::bad_alloc).
// Never less than what reading any file takes. For a program, not a library.
void bound_memory(uint64_t bytes);

// While this lives, a program that is started has the bound that this process was given, not the one above.
class GivenBound {
 public:
  GivenBound();
  GivenBound(const GivenBound&) = delete;
  GivenBound& operator=(const GivenBound&) = delete;
  ~GivenBound();
};

}  // namespace thaw
