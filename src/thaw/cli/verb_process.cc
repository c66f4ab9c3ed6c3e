#include "thaw/cli/verb_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/error.h"

namespace thaw::cli {
namespace {

constexpr size_t kMostOutput = size_t{32} << 20, kMostErrors = size_t{64} << 10;
constexpr std::chrono::seconds kGraceOfStop{2};  // for files that are changing their names

// The end that is read, and the one that is written.
std::array<UniqueFd, 2> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::kInternal, {.what = std::string("no pipe can be made: ") + std::strerror(errno)});
  std::array<UniqueFd, 2> pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace

VerbProcess::VerbProcess(const std::vector<std::string>& words) {
  constexpr const char* kProgram = "/proc/self/exe";
  std::array<UniqueFd, 2> output = make_pipe(), errors = make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output[1].get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, errors[1].get(), STDERR_FILENO);
  std::vector<std::string> all{"thaw"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = ::posix_spawn(&pid_, kProgram, &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = -1;
    throw Error(ErrorCode::kInternal, {.what = std::string("no process can be started: ") + std::strerror(failed),
                                       .next = failed == E2BIG ? "give fewer arguments" : "call again later"});
  }
  output_.fd = std::move(output[0]);
  errors_.fd = std::move(errors[0]);
}

VerbProcess::~VerbProcess() {
  if (pid_ < 0 || status_) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void VerbProcess::take(Pipe& pipe, size_t most) {
  std::array<char, size_t{64} << 10> buffer;
  while (pipe.fd) {
    const ssize_t got = ::read(pipe.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) return pipe.fd.reset();
    const size_t room = most - pipe.text.size(), size = std::min(room, static_cast<size_t>(got));
    pipe.text.append(buffer.data(), size);
    pipe.is_too_much |= size < static_cast<size_t>(got);
    if (pipe.is_too_much) return;  // enough for this look: who prints without end is stopped
  }
}

std::optional<int> VerbProcess::look() {
  take(errors_, kMostErrors);
  take(output_, kMostOutput);
  if (output_.is_too_much && !kill_at_) stop();
  if (kill_at_ && std::chrono::steady_clock::now() >= *kill_at_) ::kill(pid_, SIGKILL);
  int status = 0;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended != pid_) return std::nullopt;
  status_ = status;
  // What it printed last.
  take(errors_, kMostErrors);
  take(output_, kMostOutput);
  return status_;
}

void VerbProcess::stop() {
  if (status_ || kill_at_) return;
  ::kill(pid_, SIGTERM);
  kill_at_ = std::chrono::steady_clock::now() + kGraceOfStop;
}

}  // namespace thaw::cli
