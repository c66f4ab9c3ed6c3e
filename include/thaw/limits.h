// What Thaw may spend on a model: a small file from a stranger can ask for much.
//
//   thaw::set_limits({.max_memory = 4ull << 30, .timeout = 60});
//
// Limits hold for the process, for calls that begin after they were set. A limit of 0 is the default that its line
// says. What stops at one is said as such: a size is unknown, or a thaw::Error (kOutOfBudget) names the limit. What
// Thaw itself knows of a model takes 128 MiB and 4 KiB a node at most, or max_memory (docs/robustness.md).
#pragma once

#include <cstdint>

#include "thaw/export.h"

namespace thaw {

struct Limits {
  // Bytes that this process and ONNX Runtime's take; 0: see above, and what there is. What this process holds when ONNX Runtime is
  // asked is not ONNX Runtime's to take.
  uint64_t max_memory = 0;
  // Nodes looked at, those of called functions and of each iteration counted again; 0: 1'000'000, and 500 a node.
  uint64_t max_visits = 0;
  // Seconds that a call may take, with all that it has ONNX Runtime do; 0: as long as it takes. A Session is no call: its loading is
  // one, and each run. What ONNX Runtime is at by then is stopped; what Thaw itself computes the command alone ends.
  double timeout = 0;
  double run_timeout = 0;  // seconds for loading a model in ONNX Runtime, and for each run; 0: as long as it takes
  // Whether ONNX Runtime's process is a sandbox, as far as the kernel has one. Of processes that are started from then on.
  bool sandbox = true;
};

// May be called from any thread.
THAW_API void set_limits(const Limits& limits);
THAW_API Limits limits();

}  // namespace thaw
