#include "thaw/cli/waiting_line.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "thaw/cli/progress_line.h"
#include "thaw/core/phase.h"

namespace thaw::cli {
namespace {

using WaitingClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatienceOfWaiting{1000};
constexpr std::chrono::milliseconds kRedrawOfWaiting{200};

class Watcher {
 public:
  Watcher() : thread_([this] { watch(); }) {}
  ~Watcher() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      wake_.notify_all();
    }
    thread_.join();
  }

 private:
  void watch() {
    const WaitingClock::time_point begun = WaitingClock::now();
    bool is_drawn = false;
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kPatienceOfWaiting, [&] { return is_over_; });
    while (!is_over_) {
      const char* phase = current_phase();
      if (phase != nullptr && !ProgressLine::any()) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(WaitingClock::now() - begun).count();
        draw(fmt::format("\r\x1b[K{} … {} s", phase, seconds));
        is_drawn = true;
      }
      wake_.wait_for(lock, kRedrawOfWaiting, [&] { return is_over_; });
    }
    if (is_drawn) draw("\r\x1b[K");
  }

  static void draw(const std::string& text) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread thread_;
};

std::unique_ptr<Watcher> watcher;

}  // namespace

WaitingLine::WaitingLine(bool is_wanted) {
  if (is_wanted && ProgressLine::is_shown_on(STDERR_FILENO)) watcher = std::make_unique<Watcher>();
}

WaitingLine::~WaitingLine() { end(); }

void WaitingLine::end() { watcher.reset(); }

}  // namespace thaw::cli
