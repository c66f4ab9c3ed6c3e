#include "thaw/run/worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/call_clock.h"
#include "thaw/core/cancel.h"
#include "thaw/core/error.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/core/memory.h"
#include "thaw/core/sanitized.h"
#include "thaw/limits.h"
#include "thaw/run/runtime.h"
#include "thaw/run/sandbox.h"
#include "thaw/run/session.h"
#include "thaw/run/worker_main.h"

namespace thaw::run {
namespace {

constexpr auto kGrace = std::chrono::milliseconds(2000);  // for a process that has closed its socket to end

ForkMutex& worker_mutex() {
  static auto& mutex = *new ForkMutex(ForkRank::kOuter);  // sessions of static lifetime may outlive any static object
  return mutex;
}

// One for each set of providers. Those that no session is at any more stay: the next session may be.
std::vector<std::shared_ptr<Worker>>& workers() {
  static auto& all = *new std::vector<std::shared_ptr<Worker>>;
  return all;
}

// Ended with the process, lest it be left to whoever collects orphans.
struct StopAtExit {
  StopAtExit() = default;
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;
  ~StopAtExit() {
    const std::lock_guard lock(worker_mutex());
    workers().clear();
  }
};

std::vector<std::string> whole_environment() {
  std::vector<std::string> variables;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) variables.emplace_back(*at);
  return variables;
}

// To where the system's loader of that process looks. It reads the variable once, so that the process cannot do it itself.
void add_library_folders(const ProviderAccess& access, std::vector<std::string>& variables) {
  constexpr std::string_view kBegin = "LD_LIBRARY_PATH=";
  if (access.words.empty()) return;
  const std::vector<std::filesystem::path> folders = library_folders_of(access, sites_of_runtime());
  if (folders.empty()) return;
  auto at = std::ranges::find_if(variables, [&](const std::string& one) { return one.starts_with(kBegin); });
  if (at == variables.end()) at = variables.insert(at, std::string(kBegin));
  for (const std::filesystem::path& folder : folders) *at += (at->ends_with('=') ? "" : ":") + folder.string();
}

// posix_spawn's lists, which are made and unmade by calls.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  int run(const std::filesystem::path& program, int socket, bool sandboxed, const std::filesystem::path& runtime,
          const ProviderAccess& access, pid_t& pid) {
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kWorkerSocket);
    // What models make ONNX Runtime print is nobody's. A sanitizer's report is ours.
    constexpr int kLast = kSanitized ? STDOUT_FILENO : STDERR_FILENO;
    for (int fd = 0; fd <= kLast; ++fd) ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // The system can end a process with the thread that started it, at once: of use where that is the main thread.
    const bool from_main = ::gettid() == ::getpid();
    std::string name = "thaw-worker", first(kWorkerArgument), second = std::to_string(memory_of_request()),
                third = from_main ? "1" : "0", fourth = sandboxed ? "1" : "0";
    std::vector<char*> arguments{name.data(), first.data(), second.data(), third.data(), fourth.data()};
    std::vector<std::string> needed = to_arguments(access);
    for (std::string& argument : needed) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    std::vector<std::string> kept = sandboxed ? worker_environment(access) : whole_environment();
    if (!runtime.empty()) name_runtime_in(kept, runtime);
    add_library_folders(access, kept);
    std::vector<char*> variables;
    for (std::string& variable : kept) variables.push_back(variable.data());
    variables.push_back(nullptr);
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments.data(), variables.data());
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Error with_sandbox_named(Error error) {
  if (!limits().sandbox) return error;
  const std::string& what = error.parts().what;
  // What the system says of what it denies, and its loader of a library that is not there or may not be seen.
  const std::array<std::string_view, 3> signs{std::string_view(::strerrordesc_np(EACCES)), ::strerrordesc_np(EPERM),
                                              "cannot open shared object file"};
  if (std::ranges::none_of(signs, [&](std::string_view sign) { return what.find(sign) != std::string::npos; }))
    return error;
  ErrorParts parts = error.parts();
  parts.next += std::string(parts.next.empty() ? "" : "; ") +
                "where its sandbox denies what it needs, run it without, by --no-sandbox (thaw::Limits::sandbox)";
  return Error(error.code(), std::move(parts));
}

Deadline deadline_of_request() {
  const double seconds = limits().run_timeout;
  Deadline end = CallClock::end();
  if (!(seconds > 0)) return end;
  const auto own = after_seconds(std::chrono::steady_clock::now(), seconds);
  return end ? std::min(*end, own) : own;
}

void require_time(const std::string& where) {
  throw_if_cancelled();
  if (!CallClock::is_over()) return;
  throw RunTimedOut({.what = "ONNX Runtime was not asked " + past_time().after,
                     .where = where,
                     .expected = past_time().expected,
                     .next = "allow more with --timeout (thaw::Limits::timeout), where 0 is as long as it takes"});
}

PastTime past_time() {
  if (CallClock::is_over())
    return {.after = fmt::format("after {:g} s of the call", limits().timeout),
            .expected = "a call that ends within --timeout"};
  const double seconds = limits().run_timeout > 0 ? limits().run_timeout : limits().timeout;
  return {.after = fmt::format("after {:g} s", seconds),
          .expected = fmt::format("a model that is loaded, and runs once, within {:g} s", seconds)};
}

uint64_t memory_of_request() {
  const uint64_t most = limits().max_memory;
  return most == 0 ? 0 : std::max<uint64_t>(most - std::min(most, held_memory()), 1);
}

std::shared_ptr<Worker> Worker::current(const ProviderAccess& access) {
  const std::lock_guard lock(worker_mutex());
  std::vector<std::shared_ptr<Worker>>& all = workers();
  const Start wanted{.sandboxed = limits().sandbox && !kSanitized, .runtime = named_runtime(), .access = access};
  std::erase_if(all, [&](const std::shared_ptr<Worker>& one) {
    return one->has_ended() || one->start_.sandboxed != wanted.sandboxed || one->start_.runtime != wanted.runtime;
  });
  const auto found =
      std::ranges::find_if(all, [&](const std::shared_ptr<Worker>& one) { return one->start_ == wanted; });
  if (found != all.end()) return *found;
  all.push_back(start(wanted));
  static const StopAtExit stop;
  return all.back();
}

void Worker::start_early() {
  try {
    current(access_of(process_providers()));
  } catch (const Error&) {  // the first session says it
  }
}

std::shared_ptr<Worker> Worker::start(const Start& wanted) {
  const std::filesystem::path program = worker_program();
  auto [own, other] = socket_pair();
  pid_t pid = -1;
  const GivenBound bound;
  const int failure = SpawnPlan().run(program, other.get(), wanted.sandboxed, wanted.runtime, wanted.access, pid);
  if (failure != 0) {
    throw Error(failure == ENOMEM || failure == EAGAIN ? ErrorCode::kOutOfBudget : ErrorCode::kRuntimeMissing,
                {.what = std::string("the process that runs ONNX Runtime cannot be started: ") + std::strerror(failure),
                 .where = program.string(),
                 .expected = "a program that can be run",
                 .next = "set THAW_WORKER to the path of thaw-worker"});
  }
  return std::shared_ptr<Worker>(new Worker(std::move(own), pid, wanted));
}

Worker::Worker(UniqueFd socket, pid_t pid, Start start)
    : control_(std::move(socket)), pid_(pid), owner_(::getpid()), start_(std::move(start)) {}

Worker::~Worker() {
  if (!is_own()) return;
  const std::lock_guard lock(mutex_);
  wait_for_end(/*kill_now=*/true);
}

std::unique_ptr<Worker::Line> Worker::take_line() {
  {
    const std::lock_guard lock(mutex_);
    if (!lines_.empty()) {
      std::unique_ptr<Line> line = std::move(lines_.back());
      lines_.pop_back();
      return line;
    }
  }
  auto [own, other] = socket_pair();
  auto line = std::make_unique<Line>();
  line->channel = Channel(std::move(own));
  const std::lock_guard lock(mutex_);
  const std::array<int, 1> files{other.get()};
  // Where it is gone, the first request on the line finds that out.
  static_cast<void>(control_.send(MessageKind::kOpenChannel, {}, files));
  return line;
}

void Worker::give_back(std::unique_ptr<Line> line) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(std::move(line));
}

Message Worker::ask(Line& line, MessageKind kind, const std::string& body, std::span<const int> files,
                    Deadline deadline, const HandedFiles& handed) {
  struct AtWork {
    explicit AtWork(std::atomic<int>& counted) : count(counted) { ++count; }
    ~AtWork() { --count; }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    std::atomic<int>& count;
  };
  const AtWork at_work(at_work_);
  Message answer;
  Sent outcome = line.channel.send(kind, body, files, deadline);
  if (outcome == Sent::kDone) outcome = line.channel.receive(answer, deadline);
  while (outcome == Sent::kDone && answer.kind == MessageKind::kOpen) {
    const UniqueFd file = handed.open(answer);
    const std::array<int, 1> sent{file.get()};
    outcome = line.channel.send(MessageKind::kOpened, {}, std::span(sent).first(file ? 1 : 0), deadline);
    // One that asks without end would never be waited for.
    if (deadline && std::chrono::steady_clock::now() > *deadline) outcome = Sent::kLate;
    if (outcome == Sent::kDone) outcome = line.channel.receive(answer, deadline);
  }
  const bool known =
      answer.kind == MessageKind::kDone || answer.kind == MessageKind::kFailed || answer.kind == MessageKind::kGone;
  if (outcome == Sent::kDone && known) return answer;
  const WorkerEnd ended = end(outcome == Sent::kLate);
  throw_if_cancelled();
  throw ended;
}

void Worker::let_go(uint64_t held) {
  if (!is_own()) return;
  const std::lock_guard lock(mutex_);
  let_go_.push_back(held);
}

std::vector<uint64_t> Worker::take_let_go() {
  const std::lock_guard lock(mutex_);
  return std::exchange(let_go_, {});
}

bool Worker::is_own() const { return owner_ == ::getpid(); }

void Worker::look_further(const Error& missing) {
  ended_ = true;  // what is installed from now on it would not see
  run::look_further(missing, worker_program());
}

WorkerEnd Worker::end(bool late) {
  const std::lock_guard lock(mutex_);
  WorkerEnd result;
  result.late = late;
  result.for_other = !late && (stopped_late_ || at_work_ > 1);
  stopped_late_ |= late;
  wait_for_end(late);
  result.status = status_;
  return result;
}

void Worker::wait_for_end(bool kill_now) {
  ended_ = true;
  const auto start = std::chrono::steady_clock::now();
  while (!reaped_) {
    if (kill_now) ::kill(pid_, SIGKILL);
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, kill_now ? 0 : WNOHANG);
    if (got == pid_ || (got < 0 && errno != EINTR)) {
      reaped_ = true;
      if (got == pid_) status_ = status;
    } else if (got == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // Whatever holds it up: it does not answer.
      kill_now = std::chrono::steady_clock::now() - start > kGrace;
    }
  }
}

}  // namespace thaw::run
