#include "thaw/run/session.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "thaw/core/fork_mutex.h"
#include "thaw/core/phase.h"
#include "thaw/core/threads.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/wire/data_folder.h"
#include "thaw/limits.h"
#include "thaw/run/ort_session.h"
#include "thaw/run/providers.h"
#include "thaw/run/worker_session.h"

namespace thaw::run {
namespace {

std::string list_ports(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) text += (text.empty() ? "'" : ", '") + port.name + "'";
  return text.empty() ? "none" : text;
}

const Port* find_port(const std::vector<Port>& ports, std::string_view name) {
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

SessionOptions within_limits(SessionOptions options) {
  const uint32_t most = limits().threads;
  if (most > 0 && (options.threads == 0 || static_cast<uint32_t>(options.threads) > most))
    options.threads = threads_at_once();
  return with_settled_providers(std::move(options));
}

Values run_here(OrtSession& session, const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> wanted,
                std::span<const std::string> held) {
  std::vector<ArrayView> views;
  for (const auto& [name, array] : feeds) views.push_back({name, array.dtype, array.dims, array.bytes, array.strings});
  Values values;
  values.held = session.run(views, fed, wanted, held, [&](std::span<const ArrayView> results) {
    for (const ArrayView& view : results) {
      Array array;
      array.dtype = view.dtype;
      array.dims = view.dims;
      array.bytes.assign(view.bytes.begin(), view.bytes.end());
      array.strings = view.strings;
      values.arrays.insert_or_assign(view.name, std::move(array));
    }
  });
  return values;
}

}  // namespace

struct Session::Impl {
  std::string where;
  std::unique_ptr<WorkerSession> worker;  // one of the two
  std::unique_ptr<OrtSession> here;
  bool profiled = false;  // and was not asked yet

  const std::vector<Port>& inputs() const { return worker ? worker->inputs() : here->inputs(); }
  const std::vector<Port>& outputs() const { return worker ? worker->outputs() : here->outputs(); }

  Values run(const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> names,
             std::span<const std::string> held) const {
    return worker ? worker->run(feeds, fed, names, held) : run_here(*here, feeds, fed, names, held);
  }

  const Port& input(const std::string& name) const {
    const Port* const port = find_port(inputs(), name);
    if (port == nullptr)
      throw Error(
          ErrorCode::kInvalidArgument,
          {.what = "has no input '" + name + "'", .where = where, .expected = "one of " + list_ports(inputs())});
    return *port;
  }

  void check_feeds(const Arrays& feeds, const HeldArrays& fed) const {
    for (const auto& [name, array] : fed) input(name);
    for (const auto& [name, array] : feeds) {
      const Port* const port = &input(name);
      const std::string at = where + ", input '" + name + "'";
      if (port->kind != ir::Type::Kind::kTensor && port->kind != ir::Type::Kind::kOptional) {
        throw Error(ErrorCode::kUnsupported,
                    {.what = "takes a sequence, map or sparse tensor, which cannot be fed from an array", .where = at});
      }
      if (port->dtype != array.dtype) {
        throw Error(ErrorCode::kInvalidArgument,
                    {.what = "is fed " + describe(array),
                     .where = at,
                     .expected = std::string(ir::name_of(port->dtype)),
                     .next = "convert the array (`thaw run --cast`), or, between floats, the "
                             "model's inputs (`thaw convert --io convert`)"});
      }
    }
    for (const Port& port : inputs()) {
      if (!port.has_default && !feeds.contains(port.name) && !fed.contains(port.name) &&
          port.kind != ir::Type::Kind::kOptional) {
        throw Error(
            ErrorCode::kInvalidArgument,
            {.what = "input '" + port.name + "' is not fed", .where = where, .expected = "an array for each input"});
      }
    }
  }

  // The outputs to ask for, in the model's order.
  std::vector<std::string> chosen(std::span<const std::string> wanted) const {
    for (const std::string& name : wanted) {
      if (find_port(outputs(), name) == nullptr) {
        throw Error(
            ErrorCode::kInvalidArgument,
            {.what = "has no output '" + name + "'", .where = where, .expected = "one of " + list_ports(outputs())});
      }
    }
    std::vector<std::string> names;
    for (const Port& port : outputs()) {
      if (wanted.empty() || std::find(wanted.begin(), wanted.end(), port.name) != wanted.end())
        names.push_back(port.name);
    }
    return names;
  }
};

namespace {

ForkMutex& last_mutex() {
  static auto& mutex = *new ForkMutex;
  return mutex;
}

Runtime& last() {  // guarded by it
  static auto& runtime = *new Runtime;
  return runtime;
}

void note_runtime(const SessionOptions& given, const Runtime& runtime) {
  if (!given.providers.empty()) return;
  const std::lock_guard lock(last_mutex());
  last() = runtime;
}

std::unique_ptr<ir::Model> one_node() {
  ir::ModelBuilder model(/*opset=*/17);
  model.add_output(model.add_node("Relu", {model.add_input("x", ir::tensor_type(ir::DataType::kFloat, {1}))}), "y");
  return model.build();
}

// Where the system's loader misses a library, the packages that have those that a provider is linked with.
std::string install_libraries(std::span<const Provider> providers, const std::string& failure) {
  if (failure.find("cannot open shared object file") == std::string::npos) return {};
  for (const Provider& provider : providers)
    if (const KnownProvider* known = find_known_provider(provider_word(provider.name));
        known != nullptr && !known->libraries.empty())
      return "pip install " + std::string(known->libraries) + " where ONNX Runtime is";
  return {};
}

}  // namespace

void require_providers(const std::vector<Provider>& providers) {
  const SessionOptions options = with_settled_providers({.spinning = false, .providers = providers});
  if (options.providers.empty()) return;
  try {
    const Session session(*one_node(), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed) throw;
    ErrorParts parts = error.parts();
    parts.where = "provider " + describe(options.providers);
    parts.expected = "a provider that runs a model of one node here";
    if (const std::string install = install_libraries(options.providers, parts.what); !install.empty())
      parts.next = install + (parts.next.empty() ? "" : "; " + parts.next);
    throw Error(error.code(), std::move(parts));
  }
}

Runtime current_runtime() { return Session(*one_node(), {.spinning = false}).runtime(); }

Runtime last_runtime() {
  const std::lock_guard lock(last_mutex());
  return last();
}

Session::Session(const std::filesystem::path& path, const SessionOptions& given) : impl_(std::make_unique<Impl>()) {
  const SessionOptions options = within_limits(given);
  const Phase phase("loading into ONNX Runtime");
  impl_->where = path.string();
  const std::unique_ptr<ir::Model> model = ir::load(path);
  impl_->profiled = options.profile && !options.in_process;
  if (options.in_process) {
    impl_->here = std::make_unique<OrtSession>(path, options);
  } else {
    impl_->worker = std::make_unique<WorkerSession>(path, *model, options);
  }
  note_runtime(given, runtime());
}

Session::Session(const ir::Model& model, const SessionOptions& given) : impl_(std::make_unique<Impl>()) {
  const SessionOptions options = within_limits(given);
  const Phase phase("loading into ONNX Runtime");
  impl_->where = model.path.empty() ? "the model in memory" : model.path.string();
  impl_->profiled = options.profile && !options.in_process;
  if (options.in_process) {
    const std::string folder = ir::data_folder_of(model).string();
    const std::string bytes = ir::serialize(model);
    impl_->here = std::make_unique<OrtSession>(std::as_bytes(std::span(bytes)), folder, impl_->where, options);
  } else {
    impl_->worker = std::make_unique<WorkerSession>(model, options);
  }
  note_runtime(given, runtime());
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<Port>& Session::inputs() const { return impl_->inputs(); }
const std::vector<Port>& Session::outputs() const { return impl_->outputs(); }
const Port* Session::find_input(std::string_view name) const { return find_port(impl_->inputs(), name); }
const Port* Session::find_output(std::string_view name) const { return find_port(impl_->outputs(), name); }

Arrays Session::inputs_among(const Arrays& arrays) const {
  Arrays own;
  for (const auto& [name, array] : arrays)
    if (find_input(name) != nullptr) own.emplace(name, array);
  return own;
}

const Runtime& Session::runtime() const { return impl_->worker ? impl_->worker->runtime() : impl_->here->runtime(); }

Placement Session::placement() {
  if (!impl_->profiled)
    throw Error(ErrorCode::kInvalidArgument, {.what = "no run was recorded",
                                              .where = impl_->where,
                                              .expected = "a session with SessionOptions::profile",
                                              .next = "set it where the session is made, and ask once"});
  impl_->profiled = false;
  return impl_->worker->placement();
}

std::vector<std::string> Session::take_warnings() {
  return impl_->worker ? impl_->worker->take_warnings() : impl_->here->take_warnings();
}

Arrays Session::run(const Arrays& feeds, std::span<const std::string> wanted) {
  const Phase phase("running in ONNX Runtime");
  impl_->check_feeds(feeds, {});
  return impl_->run(feeds, {}, impl_->chosen(wanted), {}).arrays;
}

Values Session::run(const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> wanted,
                    std::span<const std::string> held) {
  const Phase phase("running in ONNX Runtime");
  impl_->check_feeds(feeds, fed);
  const auto named = [&](std::span<const std::string> names) {
    return names.empty() ? std::vector<std::string>() : impl_->chosen(names);
  };
  return impl_->run(feeds, fed, named(wanted), named(held));
}

void prepare_sessions() { Worker::start_early(); }

}  // namespace thaw::run
