// The sandbox that the worker puts itself into before it opens a library or is sent a byte of a model.
//
// What it may open is fixed then: libraries, its own folder in /proc and what the system says of the processor. A model's files
// are not among it: Thaw opens those and hands them over (run/handed_files.h). How much of it there is depends on the
// kernel (sandbox_tier); docs/robustness.md says what each part keeps from whom. Internal to run/.
#pragma once

#include <string>
#include <vector>

#include "thaw/run/provider_access.h"

namespace thaw::run {

struct SandboxTier {
  int landlock = 0;      // its version; 0: none
  bool seccomp = false;  // whether system calls are filtered
};

// What this kernel has of it. Asks the kernel, changes nothing.
SandboxTier sandbox_tier();

// The same in words, a line each: for `thaw --version --verbose`.
std::string sandbox_text();

// The environment of a worker: of this process's, the few names that matter where models run ("NAME=VALUE").
std::vector<std::string> worker_environment(const ProviderAccess& access);

// Puts this process, which has one thread, into the sandbox, as far as the kernel has it, with what providers need left open. False,
// with errno, where the kernel has it and refuses.
bool enter_sandbox(const ProviderAccess& access);

}  // namespace thaw::run
