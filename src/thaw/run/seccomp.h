// A filter of system calls: whole classes that running a model needs nothing of are errors (EPERM). Not a list of what is
// allowed, which the next libc or driver would break. Internal to run/.
#pragma once

#include <cstdint>

namespace thaw::run {

// Whether the kernel filters system calls, and this machine's calls are known here (x86-64, AArch64).
bool can_filter_calls();

enum class Writes : uint8_t {
  kNothing,      // no file is opened to write
  kOpenedFiles,  // files that are there
  kNewFiles,     // and files are made, renamed and taken away
};

enum class Sockets : uint8_t {
  kNone,
  kOwn,  // Unix sockets that are connected to nothing: others may connect to them
};

// From now on no thread of the process runs a program or starts a process, connects or opens a socket beyond `sockets`, looks into or
// signals another process, mounts, loads, traces, sets clocks or identities, or writes beyond `writes`. False, with errno, where the kernel
// refuses.
bool filter_calls(Writes writes, Sockets sockets);

}  // namespace thaw::run
