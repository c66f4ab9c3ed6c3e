#include "thaw/run/worker_session.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thaw/core/error.h"
#include "thaw/core/fork_mutex.h"
#include "thaw/ir/wire/apart.h"
#include "thaw/ir/wire/data_folder.h"
#include "thaw/limits.h"
#include "thaw/run/message.h"
#include "thaw/run/runtime.h"
#include "thaw/run/runtime_message.h"
#include "thaw/run/session.h"
#include "thaw/run/shared_memory.h"
#include "thaw/run/worker_main.h"

namespace thaw::run {
namespace {

constexpr uint64_t kKeptModel = uint64_t{256} << 20;  // of a model that may have to be loaded again
constexpr uint64_t kLeastApart = uint64_t{1} << 20;   // of a weight that is not among its bytes
constexpr auto kMostToClose = std::chrono::seconds(10);
constexpr size_t kMostWarnings = 32;
constexpr int kMostTries = 3;  // where the worker ended for another's sake

std::string with_unit(uint64_t bytes) {
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.4g} {}", size, kUnits[unit]);
}

// What a model needed more of than there was; `reason` is ONNX Runtime's.
Error out_of_memory(const std::string& where, std::string reason) {
  constexpr std::string_view kBegin = "ONNX Runtime: ";
  if (reason.starts_with(kBegin)) reason.erase(0, kBegin.size());
  const bool is_of_device = says_no_device_memory(reason);
  if (!reason.empty()) reason = " (" + reason + ")";
  if (is_of_device)
    return Error(ErrorCode::kOutOfBudget,
                 {.what = "the provider's device has too little memory" + reason,
                  .where = where,
                  .expected = "a model that runs in what the device has, and its options allow",
                  .next = "run it at smaller sizes, or with another device or provider"});
  const uint64_t most = limits().max_memory;
  if (most == 0) {
    return Error(ErrorCode::kOutOfBudget,
                 {.what = "ONNX Runtime needs more memory than there is" + reason,
                  .where = where,
                  .expected = "a model that runs in what there is",
                  .next = "run it at smaller sizes, or allow more with --max-memory (thaw::Limits::max_memory)"});
  }
  return Error(ErrorCode::kOutOfBudget,
               {.what = fmt::format("ONNX Runtime needs more than --max-memory {}", with_unit(most)) + reason,
                .where = where,
                .expected = "a model that runs within the limit",
                .next = "run it at smaller sizes, or allow more with --max-memory (thaw::Limits::max_memory)"});
}

// Whether the worker may hold less memory than there is.
bool is_limited() {
  rlimit space{};
  return limits().max_memory != 0 || (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY);
}

bool exited_with(const WorkerEnd& end, int code) {
  return end.status != -1 && WIFEXITED(end.status) && WEXITSTATUS(end.status) == code;
}

std::string name_of_signal(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

// Weights that go apart from a large model's bytes: where they lie ONNX Runtime reads them, without a copy, and no message of
// protobuf has 2 GiB. Of types that its interface has known since version 1.21.
std::vector<const ir::Tensor*> tensors_apart(const ir::Model& model) {
  std::vector<const ir::Tensor*> found;
  uint64_t bytes = 0;
  for (const ir::Value* value : model.graph->initializers()) {
    // ONNX Runtime drops what no node reads before it asks for it.
    if (value->is_input() || value->is_output() || !value->is_used()) continue;
    const ir::Tensor& tensor = *value->initializer();
    const bool has_bytes =
        tensor.storage() == ir::Tensor::Storage::kRaw || tensor.storage() == ir::Tensor::Storage::kMade;
    const bool is_number = ir::is_floating(tensor.data_type) || ir::is_integer(tensor.data_type);
    const bool is_plain =
        is_number && ir::bits_of(tensor.data_type) >= 8 && tensor.data_type <= ir::DataType::kFloat8E5M2FNUZ;
    if (!has_bytes || !is_plain || tensor.num_bytes() < kLeastApart) continue;
    found.push_back(&tensor);
    bytes += tensor.num_bytes();
  }
  if (bytes <= kKeptModel) found.clear();
  return found;
}

class HeldInWorker : public HeldArray {
 public:
  explicit HeldInWorker(std::shared_ptr<Worker> holder) : worker(std::move(holder)), number(worker->new_held()) {}
  ~HeldInWorker() override { worker->let_go(number); }
  HeldInWorker(const HeldInWorker&) = delete;
  HeldInWorker& operator=(const HeldInWorker&) = delete;

  const std::shared_ptr<Worker> worker;
  const uint64_t number;
};

std::vector<ArrayView> views_of(const Arrays& arrays) {
  std::vector<ArrayView> views;
  for (const auto& [name, array] : arrays) views.push_back({name, array.dtype, array.dims, array.bytes, array.strings});
  return views;
}

// What `decode` reads, where it can be read.
template <typename Decode>
auto decoded(const std::string& where, const Decode& decode) {
  try {
    return decode();
  } catch (const BadMessage& error) {
    throw Error(
        ErrorCode::kRuntimeFailed,
        {.what = std::string("ONNX Runtime's process gave an impossible answer: ") + error.what(), .where = where});
  }
}

// Held for a short time only: not while a model is loaded, or a worker waited for.
ForkMutex& sessions_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

}  // namespace

WorkerSession::WorkerSession(const std::filesystem::path& path, const ir::Model& model, const SessionOptions& options)
    : files_({std::filesystem::absolute(path)}) {
  request_.path = std::filesystem::absolute(path).string();
  request_.where = path.string();
  hand_over_data(model, std::filesystem::absolute(path).parent_path());
  request_.options = options;
  slot();
}

WorkerSession::WorkerSession(const ir::Model& model, const SessionOptions& options) {
  request_.where = model.path.empty() ? "the model in memory" : model.path.string();
  request_.folder = ir::data_folder_of(model).string();
  hand_over_data(model, request_.folder);
  request_.options = options;
  share(model);
  slot();
  if (model_.size() + weights_.size() <= kKeptModel) return;
  drop_shared();
  again_ = ir::clone(model);
}

void WorkerSession::drop_shared() {
  model_ = {};
  weights_ = {};
  request_.weights.clear();
}

void WorkerSession::share(const ir::Model& model) {
  drop_shared();  // of a load that failed half-way
  const std::vector<const ir::Tensor*> apart = tensors_apart(model);
  for (const ir::Tensor* tensor : apart)
    request_.weights.push_back({tensor->name, tensor->data_type, tensor->dims, tensor->bytes(), {}});
  if (!apart.empty()) {
    weights_ = SharedFile(shared_bytes(request_.weights));
    write_shared(request_.weights, weights_);
    const std::string rest = ir::serialize_without(model, apart);
    request_.bytes = rest.size();
    model_ = SharedFile(rest.size());
    model_.write(0, std::as_bytes(std::span(rest)));
    return;
  }
  uint64_t written = 0;
  ir::serialize(
      model,
      [&](uint64_t size) {
        request_.bytes = size;
        model_ = SharedFile(size);
      },
      [&](std::string_view bytes) {
        model_.write(written, std::as_bytes(std::span(bytes)));
        written += bytes.size();
      });
}

void WorkerSession::hand_over_data(const ir::Model& model, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& file : ir::data_files_of(model)) {
    files.push_back(std::filesystem::absolute(file).lexically_normal());
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0) continue;
    // Of files with holes, what there is: the holes may be of any size.
    request_.data += std::min(static_cast<uint64_t>(status.st_size), static_cast<uint64_t>(status.st_blocks) * 512);
  }
  request_.data = std::min(request_.data, ir::mapped_bytes_of(model));  // a part of a model reads a part of its file
  if (!folder.empty()) files_.add_data(folder, files);
}

WorkerSession::~WorkerSession() { close(slot_); }

void WorkerSession::close(Slot& slot) {
  const std::shared_ptr<Worker> worker = std::exchange(slot.worker, nullptr);
  if (!worker || worker->has_ended()) return;
  try {
    MessageWriter writer;
    writer.put(slot.id);
    std::unique_ptr<Worker::Line> line = worker->take_line();
    worker->ask(*line, MessageKind::kClose, writer.take(), {}, std::chrono::steady_clock::now() + kMostToClose);
    worker->give_back(std::move(line));
  } catch (const Error&) {  // nothing is left to close
  } catch (const WorkerEnd&) {
  }
}

void WorkerSession::close_after_failure(const Slot& failed) {
  Slot closed;
  {
    const std::lock_guard lock(sessions_mutex());
    if (slot_.worker == failed.worker && slot_.id == failed.id) std::swap(slot_, closed);
  }
  close(closed);
}

std::shared_ptr<std::mutex> WorkerSession::own_loading() {
  const std::lock_guard lock(sessions_mutex());
  if (loading_of_ != ::getpid()) loading_ = std::make_shared<std::mutex>();
  loading_of_ = ::getpid();
  return loading_;
}

WorkerSession::Slot WorkerSession::slot() {
  require_time(request_.where);
  const std::shared_ptr<std::mutex> loading = own_loading();
  const std::lock_guard lock(*loading);
  for (int tries = 1;; ++tries) {
    {
      const std::lock_guard reading(sessions_mutex());
      if (slot_.worker && !slot_.worker->has_ended()) return slot_;
    }
    Slot slot{Worker::current(access_of(request_.options.providers)), 0};
    slot.id = slot.worker->new_session();
    try {
      load(slot);
      const std::lock_guard writing(sessions_mutex());
      std::swap(slot_, slot);
    } catch (const WorkerEnd& end) {
      if (!end.for_other || tries == kMostTries) throw_end(end, /*loading=*/true);
    } catch (const Error& refused) {
      if (!is_runtime_missing(refused)) throw;
      slot.worker->look_further(refused);
    }
  }
}

void WorkerSession::load(Slot& slot) {
  if (again_) share(*again_);
  LoadRequest request = request_;
  request.session = slot.id;
  request.max_memory = memory_of_request();
  std::unique_ptr<Worker::Line> line = slot.worker->take_line();
  const std::array<int, 2> files{model_.fd(), weights_.fd()};
  const size_t sent = !request_.path.empty() ? 0 : request_.weights.empty() ? 1 : 2;
  const Message answer = slot.worker->ask(*line, MessageKind::kLoad, encode(request), std::span(files).first(sent),
                                          deadline_of_request(), files_);
  slot.worker->give_back(std::move(line));
  if (again_) drop_shared();
  if (answer.kind == MessageKind::kFailed) throw error_of(answer);
  Ports ports = decoded(request_.where, [&] { return decode_ports(answer.body); });
  keep_warnings(std::move(ports.warnings));
  if (ports_.outputs.empty()) ports_ = std::move(ports);  // the same each time it is loaded
}

Values WorkerSession::run(const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> wanted,
                          std::span<const std::string> held) {
  const std::vector<ArrayView> views = views_of(feeds);
  for (int tries = 1;; ++tries) {
    const Slot at = slot();
    try {
      return run_at(at, views, fed, wanted, held);
    } catch (const WorkerEnd& end) {
      if (!end.for_other || tries == kMostTries) throw_end(end, /*loading=*/false);
    }
  }
}

Values WorkerSession::run_at(const Slot& slot, std::span<const ArrayView> feeds, const HeldArrays& fed,
                             std::span<const std::string> wanted, std::span<const std::string> held) {
  RunRequest request{.session = slot.id,
                     .max_memory = memory_of_request(),
                     .wanted = {wanted.begin(), wanted.end()},
                     .feeds = {feeds.begin(), feeds.end()}};
  for (const auto& [name, array] : fed) {
    const auto* const there = dynamic_cast<const HeldInWorker*>(array.get());
    if (there == nullptr || there->worker != slot.worker) throw HeldArrayLost(request_.where);
    request.fed.push_back({.name = name, .number = there->number});
  }
  // Let go in any case: the run may fail behind the outputs.
  HeldArrays made;
  for (const std::string& name : held) {
    const auto one = std::make_shared<HeldInWorker>(slot.worker);
    request.held.push_back({.name = name, .number = one->number});
    made.emplace(name, one);
  }
  request.let_go = slot.worker->take_let_go();
  std::unique_ptr<Worker::Line> line = slot.worker->take_line();
  const uint64_t size = shared_bytes(feeds);
  const bool grows = size > line->feeds.size();
  if (grows) line->feeds = SharedFile(size);
  write_shared(feeds, line->feeds);
  const std::array<int, 1> files{line->feeds.fd()};
  Message answer = slot.worker->ask(*line, MessageKind::kRun, encode(request), std::span(files).first(grows ? 1 : 0),
                                    deadline_of_request());
  // The line is not given back then: how much of its memory the worker knows of is not known.
  if (answer.kind == MessageKind::kGone) throw WorkerEnd{.late = false, .for_other = true, .status = -1};
  if (answer.kind == MessageKind::kFailed) {
    const Error error = error_of(answer);
    // ONNX Runtime's arena keeps what it got hold of before it failed, and smaller sizes would fail too.
    if (error.code() == ErrorCode::kOutOfBudget) close_after_failure(slot);
    throw error;
  }
  if (!answer.files.empty()) line->results = SharedView(std::move(answer.files.front()));
  Results results = decoded(request_.where, [&] { return decode_results(answer.body, line->results.bytes()); });
  Arrays arrays;
  for (ArrayView& view : results.arrays) {
    Array array;
    array.dtype = view.dtype;
    array.dims = std::move(view.dims);
    array.bytes.assign(view.bytes.begin(), view.bytes.end());
    array.strings = std::move(view.strings);
    arrays.insert_or_assign(std::move(view.name), std::move(array));
  }
  if (line->feeds.size() > kKeptMemory) line->feeds = {};
  if (line->results.bytes().size() > kKeptMemory) line->results = {};
  slot.worker->give_back(std::move(line));
  keep_warnings(std::move(results.warnings));
  return {.arrays = std::move(arrays), .held = std::move(made)};
}

Placement WorkerSession::placement() {
  const Slot at = slot();
  try {
    std::unique_ptr<Worker::Line> line = at.worker->take_line();
    MessageWriter writer;
    writer.put(at.id);
    const Message answer = at.worker->ask(*line, MessageKind::kPlacement, writer.take(), {}, deadline_of_request());
    at.worker->give_back(std::move(line));
    if (answer.kind == MessageKind::kFailed) throw error_of(answer);
    return decoded(request_.where, [&] { return decode_placement(answer.body); });
  } catch (const WorkerEnd& end) {
    throw_end(end, /*loading=*/false);
  }
}

void WorkerSession::keep_warnings(std::vector<std::string> warnings) {
  const std::lock_guard lock(sessions_mutex());
  for (std::string& warning : warnings) {
    const bool known = std::find(warnings_.begin(), warnings_.end(), warning) != warnings_.end();
    if (!known && warnings_.size() < kMostWarnings) warnings_.push_back(std::move(warning));
  }
}

std::vector<std::string> WorkerSession::take_warnings() {
  const std::lock_guard lock(sessions_mutex());
  return std::exchange(warnings_, {});
}

Error WorkerSession::error_of(const Message& failed) const {
  Error error = decoded(request_.where, [&] { return decode_error(failed.body); });
  if (error.code() != ErrorCode::kOutOfBudget) return with_sandbox_named(std::move(error));
  return out_of_memory(request_.where, error.parts().what);
}

void WorkerSession::throw_end(const WorkerEnd& end, bool loading) const {
  const std::string when = loading ? "while the model was loaded" : "while the model ran";
  if (end.late) {
    const PastTime past = past_time();
    throw RunTimedOut({.what = fmt::format("ONNX Runtime was stopped {}, {}", when, past.after),
                       .where = request_.where,
                       .expected = past.expected,
                       .next = "allow more with --timeout (thaw::Limits::timeout), where 0 is as long as it takes"});
  }
  // The system's loader aborts where it cannot go on.
  const bool aborted = end.status != -1 && WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGABRT;
  if (exited_with(end, kExitOutOfMemory) || (aborted && loading && is_limited()))
    throw out_of_memory(request_.where, {});
  if (exited_with(end, kExitOtherVersion)) {
    throw Error(ErrorCode::kRuntimeMissing, {.what = "the program that runs ONNX Runtime is of another version",
                                             .where = worker_program().string(),
                                             .expected = "the one that was built with this Thaw",
                                             .next = "set THAW_WORKER to its path"});
  }
  if (exited_with(end, kExitNoSandbox)) {
    throw Error(ErrorCode::kRuntimeFailed, {.what = "the kernel refuses ONNX Runtime's process its sandbox",
                                            .where = request_.where,
                                            .expected = "Landlock and seccomp as `thaw --version --verbose` says",
                                            .next = "run it without, by --no-sandbox (thaw::Limits::sandbox)"});
  }
  if (exited_with(end, kExitCannotStart)) {
    throw Error(ErrorCode::kRuntimeMissing, {.what = "the program that runs ONNX Runtime cannot be loaded",
                                             .where = worker_program().string(),
                                             .expected = "a program that the system can run, and memory for it",
                                             .next = "run it by itself to see what it lacks"});
  }
  std::string how = "ended without a word";
  std::string next = "run it at other sizes, or with --optimization none";
  if (end.status != -1 && WIFSIGNALED(end.status)) {
    how = "was ended by " + name_of_signal(WTERMSIG(end.status));
    if (WTERMSIG(end.status) == SIGKILL) {
      how += ", as the system does where memory runs out,";
      next = "run it at smaller sizes; with --max-memory it stops before the system does";
    }
  } else if (end.status != -1 && WIFEXITED(end.status)) {
    how = fmt::format("ended with exit code {}", WEXITSTATUS(end.status));
  }
  throw Error(ErrorCode::kRuntimeFailed, {.what = fmt::format("ONNX Runtime {} {}", how, when),
                                          .where = request_.where,
                                          .expected = "a model that ONNX Runtime can run",
                                          .next = std::move(next)});
}

}  // namespace thaw::run
