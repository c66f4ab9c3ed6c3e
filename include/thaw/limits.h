// Limits on memory, time and work: a small file from an unknown source can ask for much.
//
//   thaw::set_limits({.max_memory = 4ull << 30, .timeout = 60});
//
// Limits are of the process and apply to calls that begin after they were set. 0 is the default that the comment states. Where a
// limit is reached a size is unknown, or a thaw::Error (kOutOfBudget) names the limit. Shape inference takes 128 MiB and 4 KiB for
// each node at most, or max_memory (docs/robustness.md).
#pragma once

#include <cstdint>
#include <exception>

#include "thaw/export.h"

namespace thaw {

struct Limits {
  // Bytes for this process and ONNX Runtime's process together; 0: as above, and what the machine has. What this process holds when
  // ONNX Runtime is called is subtracted.
  uint64_t max_memory = 0;
  // Nodes visited; nodes of functions count for each call, nodes of loops for each iteration. 0: 1'000'000, and 500 for each node.
  uint64_t max_visits = 0;
  // Seconds for a call of the library, with all runs of ONNX Runtime; 0: no limit. For a Session, loading is one call, and each run.
  // ONNX Runtime is stopped; computation in this process is not, except by the command.
  double timeout = 0;
  double run_timeout = 0;  // seconds for loading a model in ONNX Runtime, and for each run; 0: no limit
  // Threads of this process that compute at a time, and intra-op threads of each model in ONNX Runtime; 0: one for each core.
  uint32_t threads = 0;
  // Run ONNX Runtime in a sandbox, as far as the kernel supports it. Applies to processes that start after.
  bool sandbox = true;
};

// Thread-safe.
THAW_API void set_limits(const Limits& limits);
THAW_API Limits limits();

// No thaw::Error: what fails may be tried in another way, what is cancelled is not.
class THAW_API Cancelled : public std::exception {
 public:
  const char* what() const noexcept override;
};

// While it is set, calls of the library throw thaw::Cancelled instead of going on: those that are under way within about a second,
// in all threads, and those that begin. ONNX Runtime is stopped, and nothing is written any more. For a button, or what a signal's
// handler wakes. Thread-safe.
THAW_API void set_cancelled(bool cancelled);

}  // namespace thaw
