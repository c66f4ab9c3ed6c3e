// The worker process as Thaw sees it: started when it is first needed, one for all sessions that need the same of its sandbox, started
// again when it has ended. Internal to run/: what others use is run/session.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "thaw/core/error.h"
#include "thaw/run/channel.h"
#include "thaw/run/handed_files.h"
#include "thaw/run/provider_access.h"
#include "thaw/run/shared_memory.h"

namespace thaw::run {

// The program that is run as the worker, in place of the one that is looked for (run/worker_program.cc). For a program
// that serves itself, before its first session.
void use_worker_program(std::filesystem::path path);

// The program: what THAW_WORKER names, what was set, or thaw-worker beside this library or program or in the folder
// thaw/ there. Throws thaw::Error (kRuntimeMissing) that names every place that was tried.
std::filesystem::path worker_program();

// Why a worker does not answer any more.
struct WorkerEnd {
  bool late = false;       // it was ended for this very request, which took too long
  bool for_other = false;  // it may have been for another request that was at work too
  int status = 0;          // as waitpid gives it; -1: the system does not tell
};

// What the worker refused, with the way out where that may be for its sandbox's sake.
Error with_sandbox_named(Error error);

// When a request that is made now is late: when its own time is over (Limits::run_timeout), or that of the call.
Deadline deadline_of_request();
// Throws RunTimedOut where the call has no time left to ask for anything. `where`: the model, or the folder.
void require_time(const std::string& where);
// Which of the two times a request that is late now went past.
struct PastTime {
  std::string after;     // "after 600 s", "after 60 s of the call"
  std::string expected;  // "a model that is loaded, and runs once, within 600 s"
};
PastTime past_time();
// Bytes that a request which is made now lets the worker have: what of Limits::max_memory this process does not hold; 0: what there
// is.
uint64_t memory_of_request();

class Worker {
 public:
  // The one that is alive, in a sandbox or not as the limits say, with the ONNX Runtime that is named, open for what these providers need.
  // Starts it where there is none; throws thaw::Error where it cannot be started.
  static std::shared_ptr<Worker> current(const ProviderAccess& access);
  // Starts that of this process's providers, where it can be, without waiting: it loads ONNX Runtime while Thaw does something else.
  static void start_early();

  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // A channel that one request at a time has. Goes back with its memory unless the request failed.
  struct Line {
    Channel channel;
    SharedFile feeds;
    SharedView results;
  };

  // Sends a request and waits for what comes back; meanwhile hands over what is asked for of `handed`. Throws WorkerEnd where
  // nothing comes back.
  Message ask(Line& line, MessageKind kind, const std::string& body, std::span<const int> files, Deadline deadline,
              const HandedFiles& handed = {});
  std::unique_ptr<Line> take_line();
  void give_back(std::unique_ptr<Line> line);

  // After the error that it has no ONNX Runtime: the next request starts another, with one that lies elsewhere. Throws the error
  // where there is none.
  void look_further(const Error& missing);

  uint64_t new_session() { return next_number_++; }
  // Arrays that stay in the worker, by numbers that the next request tells it are of no use any more.
  uint64_t new_held() { return next_number_++; }
  void let_go(uint64_t held);
  std::vector<uint64_t> take_let_go();
  // To a process that was forked off it has ended: the worker is the other's, and so is what comes over its lines.
  bool has_ended() const { return ended_ || !is_own(); }

 private:
  // What a worker was started with, and keeps.
  struct Start {
    bool sandboxed = false;
    std::filesystem::path runtime;  // that was named; empty: it looks for one
    ProviderAccess access;
    bool operator==(const Start&) const = default;
  };
  Worker(UniqueFd socket, pid_t pid, Start start);
  static std::shared_ptr<Worker> start(const Start& wanted);
  bool is_own() const;
  WorkerEnd end(bool late);
  void wait_for_end(bool kill_now);

  std::mutex mutex_;
  Channel control_;                           // guarded by mutex_
  std::vector<std::unique_ptr<Line>> lines_;  // idle; guarded by mutex_
  pid_t pid_;
  pid_t owner_;  // the process that started it
  Start start_;
  bool reaped_ = false;  // guarded by mutex_
  int status_ = -1;      // once reaped
  bool stopped_late_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<int> at_work_ = 0;
  std::atomic<uint64_t> next_number_ = 1;
  std::vector<uint64_t> let_go_;  // guarded by mutex_
};

}  // namespace thaw::run
