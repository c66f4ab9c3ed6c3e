#include "thaw/cli/overtime.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "thaw/cli/verb.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/phase.h"
#include "thaw/limits.h"
#include "thaw/report.h"
#include "thaw/report/fit.h"

namespace thaw::cli {
namespace {

// For what is told once ONNX Runtime has been stopped, and for what was nearly done.
constexpr std::chrono::milliseconds kLeastGrace{1000};
constexpr double kShareOfGrace = 0.1;

std::string_view text_at_end, json_at_end;  // what the handler writes: of a text that lives as long as the process

void write_at_end(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void end_process(int /*signal*/) {
  write_at_end(STDOUT_FILENO, json_at_end);
  write_at_end(STDERR_FILENO, text_at_end);
  ::_exit(kWrong);
}

Error error_of_overtime() {
  const char* phase = current_phase();
  return Error(ErrorCode::kOutOfBudget,
               {.what = fmt::format("the call was ended after {:g} s{}", limits().timeout,
                                    phase == nullptr ? std::string() : fmt::format(", while {}", phase)),
                .where = {},
                .expected = "a call that ends within --timeout",
                .next = "allow more with --timeout, where 0 is as long as it takes"});
}

}  // namespace

struct Overtime::Watch {
  Watch(CallClock::Time call_end, bool wants_json) : json(wants_json), main(::pthread_self()) {
    const std::chrono::duration<double> share(kShareOfGrace * limits().timeout);
    end = call_end + std::max(std::chrono::steady_clock::duration(kLeastGrace),
                              std::chrono::duration_cast<std::chrono::steady_clock::duration>(share));
    struct sigaction action{};
    action.sa_handler = end_process;
    ::sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm;
    ::sigemptyset(&alarm);
    ::sigaddset(&alarm, SIGALRM);
    ::pthread_sigmask(SIG_UNBLOCK, &alarm, nullptr);
    thread = std::thread([this] { wait(); });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
      wake.notify_all();
    }
    thread.join();
  }

  void wait() {
    std::unique_lock lock(mutex);
    if (wake.wait_until(lock, end, [&] { return is_over; })) return;
    const Error error = error_of_overtime();
    static std::string json_text, text;  // outlive this thread
    if (json) json_text = to_json(error);
    text = report::fit(fmt::format("thaw: {}\n", error.what()), report::columns_of(STDERR_FILENO));
    json_at_end = json_text;
    text_at_end = text;
    ::pthread_kill(main, SIGALRM);
  }

  bool json;
  pthread_t main;
  CallClock::Time end;
  std::mutex mutex;
  std::condition_variable wake;
  bool is_over = false;
  std::thread thread;
};

Overtime::Overtime(bool json) {
  if (const auto end = CallClock::end()) watch_ = std::make_unique<Watch>(*end, json);
}

Overtime::~Overtime() = default;

}  // namespace thaw::cli
