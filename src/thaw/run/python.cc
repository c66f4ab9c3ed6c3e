#include "thaw/run/python.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/call_clock.h"
#include "thaw/core/fd.h"
#include "thaw/core/memory.h"
#include "thaw/run/own_file.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOwnPackage = "onnx_thaw";
constexpr int kAnswerFd = 3;                              // what others print as Python starts is not the answer
constexpr size_t kMostAnswer = 64 << 10;                  // bytes
constexpr auto kMostToAnswer = std::chrono::seconds(10);  // of a Python that starts from a slow disk
// Each folder, and an empty name behind the last. A package in the folder at work is not one that is installed.
constexpr const char* kQuestion = R"(import sys
sys.path[:] = [path for path in sys.path if path]
import importlib.util, os
spec = importlib.util.find_spec(sys.argv[1])
names = [os.fsencode(path) for path in spec.submodule_search_locations or []] if spec else []
os.write(int(sys.argv[2]), b''.join(name + b'\0' for name in names) + b'\0')
)";

// A program that is asked something, until it has answered or time is over.
class Asked {
 public:
  Asked(const fs::path& program, const std::vector<std::string>& words) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      failure_ = errno;
      return;
    }
    answer_ = UniqueFd(ends[0]);
    const UniqueFd written(ends[1]);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions{};
    posix_spawnattr_t attributes{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_adddup2(&actions, written.get(), kAnswerFd);
    for (int fd = 0; fd < kAnswerFd; ++fd) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&actions, kAnswerFd + 1);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const GivenBound bound;
    failure_ = ::posix_spawn(&pid_, program.c_str(), &actions, &attributes, arguments.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;
  ~Asked() {
    if (failure_ != 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  int failure() const { return failure_; }

  // Reads on until `text` is whole, nothing more comes or time is over; whether time was left.
  template <typename IsWhole>
  bool read(std::string& text, CallClock::Time deadline, const IsWhole& is_whole) const {
    std::array<char, 4096> piece{};
    while (!is_whole(text) && text.size() < kMostAnswer) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      pollfd at{answer_.get(), POLLIN, 0};
      const int ready = ::poll(&at, 1, static_cast<int>(std::min<int64_t>(left.count(), 1000)));
      if (ready < 0 && errno != EINTR) return true;
      if (ready <= 0) continue;
      const ssize_t got = ::read(answer_.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return true;
      text.append(piece.data(), static_cast<size_t>(got));
    }
    return true;
  }

 private:
  UniqueFd answer_;
  pid_t pid_ = -1;
  int failure_ = 0;
};

bool can_run(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

bool is_whole_answer(std::string_view text) {
  return text == std::string_view("\0", 1) || text.ends_with(std::string_view("\0\0", 2));
}

}  // namespace

std::optional<fs::path> site_of(const fs::path& file) {
  for (fs::path at = file.parent_path(); at.has_relative_path(); at = at.parent_path())
    if (at.filename() == kOwnPackage) return at.parent_path();
  return std::nullopt;
}

std::optional<fs::path> own_site() {
  const auto site = site_of(own_file());
  return site ? site : site_of(own_program());
}

std::vector<fs::path> pythons_of(const fs::path& file) {
  std::vector<fs::path> paths;
  if (const auto site = site_of(file)) {
    // PREFIX/lib/python3.11/site-packages, by whatever names.
    const fs::path version = site->parent_path(), prefix = version.parent_path().parent_path();
    if (version.filename().string().starts_with("python")) {
      const fs::path own = prefix / "bin" / version.filename();
      paths.push_back(can_run(own) ? own : prefix / "bin" / "python3");
    }
  }
  if (file.has_parent_path()) paths.push_back(file.parent_path() / "python3");
  std::erase_if(paths, [](const fs::path& path) { return !can_run(path); });
  return paths;
}

namespace {

PackageAnswer answer_of(const fs::path& python, const std::string& package, CallClock::Time deadline) {
  PackageAnswer answer;
  const Asked asked(python, {python.string(), "-c", kQuestion, package, std::to_string(kAnswerFd)});
  if (asked.failure() != 0) {
    answer.failure = std::string("cannot be started: ") + std::strerror(asked.failure());
    return answer;
  }
  std::string text;
  const bool in_time = asked.read(text, deadline, is_whole_answer);
  if (!is_whole_answer(text)) {
    answer.failure = in_time ? "gives no answer" : "gives no answer in time";
    return answer;
  }
  for (size_t start = 0, end = 0; (end = text.find('\0', start)) > start; start = end + 1)
    answer.folders.emplace_back(text.substr(start, end - start));
  return answer;
}

}  // namespace

PackageAnswer ask_for_package(const fs::path& python, const std::string& package) {
  static std::mutex mutex;
  static std::map<std::pair<fs::path, std::string>, PackageAnswer> known;
  const std::lock_guard lock(mutex);
  const std::pair asked(python, package);
  if (const auto found = known.find(asked); found != known.end()) return found->second;
  const CallClock::Time enough = std::chrono::steady_clock::now() + kMostToAnswer;
  const CallClock::Time deadline = std::min(CallClock::end().value_or(enough), enough);
  PackageAnswer answer = answer_of(python, package, deadline);
  // Who waited in vain does not wait again.
  if (deadline == enough || answer.failure.empty()) known.emplace(asked, answer);
  return answer;
}

}  // namespace thaw::run
