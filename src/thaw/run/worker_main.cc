#include "thaw/run/worker_main.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>

#include <malloc.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/run/channel.h"
#include "thaw/run/genai.h"
#include "thaw/run/handed_files.h"
#include "thaw/run/message.h"
#include "thaw/run/ort_providers.h"
#include "thaw/run/provider_access.h"
#include "thaw/run/runtime.h"
#include "thaw/run/sandbox.h"
#include "thaw/run/shared_memory.h"
#include "thaw/run/worker_limits.h"
#include "thaw/run/worker_messages.h"

namespace thaw::run {
namespace {

constexpr int kParentCheck = 1000;                   // ms between looks at whether the parent is alive
constexpr uint64_t kKeptHeap = uint64_t{256} << 20;  // of what closed sessions leave behind, at most
constexpr uint64_t kKeptShare = 16;                  // of what there may be, at most
constexpr rlim_t kMostOpenFiles = 4096;              // a few for each thread of Thaw and for each library
constexpr int kMostOfHeap = 32 << 20;                // the largest chunk that is taken from it: glibc's own limit

struct LoadedModel {
  SharedView weights;  // which the session reads as long as it lives
  std::unique_ptr<OrtSession> session;
  uint64_t unused = 0;  // bytes that it maps or reserves without taking them
};

// One for the process, never destroyed: threads are at work when it ends.
struct WorkerState {
  MemoryLimit limit;
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<LoadedModel>> sessions;  // guarded by mutex
  std::map<uint64_t, std::shared_ptr<const HeldArray>> held;  // guarded by mutex
  std::atomic<uint64_t> left_behind = 0;                      // bytes on the heap, by sessions that were closed
};

uint64_t kept_heap(const MemoryLimit& limit) { return std::min(kKeptHeap, limit.bytes() / kKeptShare); }

struct Answer {
  MessageKind kind = MessageKind::kDone;
  std::string body;
  int file = -1;  // sent along
};

Answer failed(const Error& error) { return {MessageKind::kFailed, encode(error), -1}; }

// Requests that come over one channel, one after the other.
class Service {
 public:
  Service(WorkerState& worker, UniqueFd socket) : worker_(worker), channel_(std::move(socket)) {}

  void serve() {
    Message request;
    while (true) {
      const Sent received = channel_.receive(request);
      if (received == Sent::kBroken) ::_exit(kExitOtherVersion);
      if (received != Sent::kDone) return;
      const Answer answer = answer_to(request);
      const std::array<int, 1> files{answer.file};
      if (channel_.send(answer.kind, answer.body, std::span(files).first(answer.file >= 0 ? 1 : 0)) != Sent::kDone)
        return;
      if (results_.size() > kKeptMemory) results_ = {};
    }
  }

 private:
  Answer answer_to(Message& request) {
    Answer answer = try_to_answer(request);
    // Memory that was made for results which did not come about: the other side does not know of it.
    if (answer.kind == MessageKind::kFailed) results_ = {};
    return answer;
  }

  Answer try_to_answer(Message& request) {
    try {
      switch (request.kind) {
        case MessageKind::kLoad:
          return load(request);
        case MessageKind::kRun:
          return run(request);
        case MessageKind::kPlacement:
          return placement(request);
        case MessageKind::kClose:
          return close(request);
        case MessageKind::kTokenize:
          return tokenize(request);
        default:
          ::_exit(kExitOtherVersion);
      }
    } catch (const Error& error) {
      return failed(error);
    } catch (const std::bad_alloc&) {
      return failed(Error(ErrorCode::kOutOfBudget, {.what = "ONNX Runtime: out of memory"}));
    } catch (const BadMessage&) {
      ::_exit(kExitOtherVersion);
    } catch (const std::exception& error) {
      return failed(Error(ErrorCode::kRuntimeFailed, {.what = std::string("ONNX Runtime: ") + error.what()}));
    }
  }

  Answer load(Message& message) {
    const auto loaded = std::make_shared<LoadedModel>();
    if (message.files.size() > 1) loaded->weights = SharedView(std::move(message.files[1]));
    const LoadRequest request = decode_load(message.body, loaded->weights.bytes());
    worker_.limit.set(request.max_memory);
    const uint64_t threads = request.options.threads > 0 ? static_cast<uint64_t>(request.options.threads)
                                                         : std::thread::hardware_concurrency();
    // ONNX Runtime maps a weight twice, and keeps both where it does not copy it.
    const uint64_t mapped = request.options.copied_weights ? request.data : 2 * request.data;
    loaded->unused = mapped + threads * thread_stack_bytes();
    worker_.limit.add_unused(loaded->unused);
    worker_.limit.add_shared(loaded->weights.bytes().size());
    try {
      const AsksForFiles asks(channel_);
      if (!request.path.empty()) {
        loaded->session = std::make_unique<OrtSession>(request.path, request.options);
      } else {
        if (message.files.empty()) throw BadMessage("a model does not come along");
        const SharedView model(std::move(message.files.front()));
        if (request.bytes > model.bytes().size()) throw BadMessage("a model is larger than its memory");
        loaded->session = std::make_unique<OrtSession>(model.bytes().first(request.bytes), request.folder,
                                                       request.where, request.options, request.weights);
      }
    } catch (...) {
      worker_.limit.remove_unused(loaded->unused);
      worker_.limit.remove_shared(loaded->weights.bytes().size());
      ::malloc_trim(0);
      throw;
    }
    const Ports ports{loaded->session->inputs(), loaded->session->outputs(), loaded->session->runtime(),
                      loaded->session->take_warnings()};
    const std::lock_guard lock(worker_.mutex);
    worker_.sessions[request.session] = loaded;
    return {MessageKind::kDone, encode(ports), -1};
  }

  Answer run(Message& message) {
    if (!message.files.empty()) feeds_ = SharedView(std::move(message.files.front()));
    const RunRequest request = decode_run(message.body, feeds_.bytes());
    const std::shared_ptr<LoadedModel> loaded = find(request.session);
    if (!loaded) return {MessageKind::kGone, {}, -1};  // another thread of Thaw has closed it in the meantime
    worker_.limit.follow(request.max_memory);
    let_go(request.let_go);
    std::vector<std::string> held;
    for (const HeldName& one : request.held) held.push_back(one.name);
    Answer answer;
    const auto take = [&](std::span<const ArrayView> arrays) {
      const uint64_t size = shared_bytes(arrays);
      if (size > worker_.limit.bytes()) {
        throw Error(ErrorCode::kOutOfBudget,
                    {.what = "ONNX Runtime: the results take " + std::to_string(size) + " bytes"});
      }
      if (size > results_.size()) {
        results_ = {};
        results_ = SharedFile(size);
        answer.file = results_.fd();
      }
      write_shared(arrays, results_);
      answer.body = encode(Results{{arrays.begin(), arrays.end()}, loaded->session->take_warnings()});
    };
    const HeldArrays made = loaded->session->run(request.feeds, held_of(request.fed), request.wanted, held, take);
    {
      const std::lock_guard lock(worker_.mutex);
      for (const HeldName& one : request.held) worker_.held.insert_or_assign(one.number, made.at(one.name));
    }
    if (feeds_.bytes().size() > kKeptMemory) feeds_ = {};
    return answer;
  }

  Answer placement(const Message& message) {
    MessageReader reader(message.body);
    const std::shared_ptr<LoadedModel> loaded = find(reader.take<uint64_t>());
    if (!loaded) return {MessageKind::kGone, {}, -1};
    return {MessageKind::kDone, encode(loaded->session->placement()), -1};
  }

  Answer tokenize(const Message& message) {
    const TokenizeRequest request = decode_tokenize(message.body);
    worker_.limit.follow(request.max_memory);
    const AsksForFiles asks(channel_);
    return {MessageKind::kDone, encode(genai_tokenize(request)), -1};
  }

  Answer close(const Message& message) {
    MessageReader reader(message.body);
    const auto id = reader.take<uint64_t>();
    std::shared_ptr<LoadedModel> loaded;
    {
      const std::lock_guard lock(worker_.mutex);
      const auto found = worker_.sessions.find(id);
      if (found == worker_.sessions.end()) return {};
      loaded = std::move(found->second);
      worker_.sessions.erase(found);
    }
    const uint64_t unused = loaded->unused, shared = loaded->weights.bytes().size(), before = ::mallinfo2().fordblks;
    loaded.reset();
    // It serves the next session, which would take it anew from the system, a fault a page; past that it goes back, lest a
    // model finds less than there is.
    const uint64_t after = ::mallinfo2().fordblks;
    worker_.left_behind += after - std::min(before, after);
    if (worker_.left_behind > kept_heap(worker_.limit)) {
      worker_.left_behind = 0;
      ::malloc_trim(0);
    }
    worker_.limit.remove_unused(unused);
    worker_.limit.remove_shared(shared);
    return {};
  }

  // Null for what is not there.
  HeldArrays held_of(const std::vector<HeldName>& names) {
    const std::lock_guard lock(worker_.mutex);
    HeldArrays arrays;
    for (const HeldName& one : names) {
      const auto found = worker_.held.find(one.number);
      arrays.emplace(one.name, found == worker_.held.end() ? nullptr : found->second);
    }
    return arrays;
  }

  void let_go(const std::vector<uint64_t>& numbers) {
    std::vector<std::shared_ptr<const HeldArray>> last;  // whose memory is given back behind the lock
    const std::lock_guard lock(worker_.mutex);
    for (const uint64_t number : numbers)
      if (auto node = worker_.held.extract(number)) last.push_back(std::move(node.mapped()));
  }

  std::shared_ptr<LoadedModel> find(uint64_t id) {
    const std::lock_guard lock(worker_.mutex);
    const auto found = worker_.sessions.find(id);
    return found == worker_.sessions.end() ? nullptr : found->second;
  }

  WorkerState& worker_;
  Channel channel_;
  SharedView feeds_;  // kept from run to run
  SharedFile results_;
};

// An allocation that failed where no one catches it.
[[noreturn]] void at_terminate() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      ::_exit(kExitOutOfMemory);
    } catch (...) {  // ended by a signal, as it would have been
    }
  }
  std::abort();
}

void confine(WorkerState& worker, uint64_t max_memory) {
  // Ctrl-C goes to the whole group: Thaw decides what comes of it, and its end is ours.
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_IGN);
  std::set_terminate(at_terminate);
  const rlimit no_core{0, 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &no_core));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max = std::min(files.rlim_max, kMostOpenFiles);
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
  }
  static_cast<void>(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  // Where the system runs out of memory, this is what it is to end.
  if (std::FILE* file = std::fopen("/proc/self/oom_score_adj", "we")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
  worker.limit.set(max_memory);
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, kMostOfHeap));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kept_heap(worker.limit))));
}

void start_thread(auto work) {
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error&) {
    ::_exit(kExitOutOfMemory);
  }
}

// Waits until there is a message; ends the process where Thaw is gone.
void wait_for_message(pid_t parent) {
  while (true) {
    pollfd socket{kWorkerSocket, POLLIN, 0};
    const int ready = ::poll(&socket, 1, kParentCheck);
    // A child that the host has forked may hold the socket too.
    if (::getppid() != parent) ::_exit(0);
    if (ready > 0) return;
  }
}

}  // namespace

bool is_worker(int argc, char** argv) {
  if (argc < 5 || argv[1] != kWorkerArgument) return false;
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(kWorkerSocket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX;
}

void serve_as_worker(int argc, char** argv) {
  const pid_t parent = ::getppid();
  uint64_t max_memory = 0;
  const std::string_view text = argv[2];
  std::from_chars(text.data(), text.data() + text.size(), max_memory);
  if (std::string_view(argv[3]) == "1") static_cast<void>(::prctl(PR_SET_PDEATHSIG, SIGKILL));
  ::close_range(kWorkerSocket + 1, ~0U, 0);  // what the host had open
  auto& worker = *new WorkerState;
  confine(worker, max_memory);
  settle_runtime_candidates();
  const ProviderAccess access = access_in(std::span(argv, static_cast<size_t>(argc)).subspan(5));
  settle_provider_libraries(access.words);
  if (std::string_view(argv[4]) == "1" && !enter_sandbox(access)) ::_exit(kExitNoSandbox);
  start_thread([] {
    try {
      warm_up_runtime();
    } catch (const std::exception&) {  // the first request says it
    }
  });
  Channel control{UniqueFd(kWorkerSocket)};
  while (true) {
    wait_for_message(parent);
    Message message;
    const Sent received = control.receive(message);
    if (received == Sent::kBroken) ::_exit(kExitOtherVersion);
    if (received != Sent::kDone) ::_exit(0);
    if (message.kind != MessageKind::kOpenChannel || message.files.size() != 1) ::_exit(kExitOtherVersion);
    start_thread([&worker, socket = std::make_shared<UniqueFd>(std::move(message.files.front()))] {
      Service(worker, std::move(*socket)).serve();
    });
  }
}

}  // namespace thaw::run
