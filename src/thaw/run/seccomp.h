// A filter of system calls: whole classes that running a model needs nothing of are errors (EPERM). Not a list of what is
// allowed, which the next libc or driver would break. Internal to run/.
#pragma once

namespace thaw::run {

// Whether the kernel filters system calls, and this machine's calls are known here (x86-64, AArch64).
bool can_filter_calls();

// From now on no thread of the process runs a program or starts a process, opens a socket, looks into or signals another process,
// mounts, loads, traces, sets clocks or identities, or changes files by name; unless `opens_to_write`, none opens a file to write. False, with
// errno, where the kernel refuses.
bool filter_calls(bool opens_to_write);

}  // namespace thaw::run
