// The worker: a process that does nothing but run models in ONNX Runtime for the Thaw that started it, within limits.
//
// Models of strangers run in it: what never ends, takes all memory or crashes is this process's end, not Thaw's
// (run/worker.h). It ends with the socket that it was started with.
#pragma once

#include <string_view>

namespace thaw::run {

inline constexpr std::string_view kWorkerArgument = "--onnxruntime-worker";
inline constexpr int kWorkerSocket = 3;       // the descriptor that it is started with
inline constexpr int kExitOutOfMemory = 87;   // what it could not even say
inline constexpr int kExitOtherVersion = 86;  // it was sent what it does not understand
inline constexpr int kExitNoSandbox = 85;     // the kernel has a sandbox and refuses it
inline constexpr int kExitCannotStart = 127;  // what the system's loader ends with

// Whether a program was started as a worker: its first argument says so, and the socket is there.
bool is_worker(int argc, char** argv);

// Serves until Thaw is gone. Only from main, before anything else.
[[noreturn]] void serve_as_worker(int argc, char** argv);

}  // namespace thaw::run
