#include "thaw/run/session.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include <onnxruntime_cxx_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include "thaw/core/error.h"
#include "thaw/run/elements.h"
#include "thaw/run/runtime.h"

namespace thaw::run {
namespace {

constexpr size_t kMaxWarnings = 32;

// Cuts "/build/path/file.cc:87 void f(int, const T&) " out of ONNX Runtime's messages: it says where in its sources.
std::string without_source_locations(std::string text) {
  static constexpr std::string_view kSources = "/onnxruntime_src/";
  for (size_t start = text.find(kSources); start != std::string::npos; start = text.find(kSources, start)) {
    size_t end = text.find('(', start);
    int depth = 0;
    for (; end < text.size(); ++end) {
      if (text[end] == '(') ++depth;
      if (text[end] == ')' && --depth == 0) break;
    }
    if (end >= text.size()) break;  // not of that form: better too much than too little
    text.erase(start, end + 1 - start);
  }
  return text;
}

// ONNX Runtime's message in one line.
std::string one_line(std::string_view text) {
  std::string line;
  for (char c : without_source_locations(std::string(text))) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    if (c == ' ' && (line.empty() || line.back() == ' ')) continue;
    line.push_back(c);
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// Warnings of one session (its errors are thrown); ONNX Runtime may write from any of its threads.
class WarningLog {
 public:
  static void ORT_API_CALL receive(void* log, OrtLoggingLevel severity, const char*, const char*, const char*,
                                   const char* message) {
    if (severity == ORT_LOGGING_LEVEL_WARNING && log != nullptr) static_cast<WarningLog*>(log)->add(one_line(message));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  void add(std::string message) {
    const std::lock_guard lock(mutex_);
    const bool known = std::find(messages_.begin(), messages_.end(), message) != messages_.end();
    if (!known && messages_.size() < kMaxWarnings) messages_.push_back(std::move(message));
  }
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

// One environment for the process. Never destroyed: sessions with static lifetime may outlive any static object here.
Ort::Env& environment() {
  load_runtime();
  static auto* env = new Ort::Env(ORT_LOGGING_LEVEL_FATAL, "thaw", &WarningLog::receive, nullptr);
  return *env;
}

GraphOptimizationLevel level_of(Optimization optimization) {
  switch (optimization) {
    case Optimization::kNone:
      return ORT_DISABLE_ALL;
    case Optimization::kBasic:
      return ORT_ENABLE_BASIC;
    case Optimization::kExtended:
      return ORT_ENABLE_EXTENDED;
    case Optimization::kAll:
      return ORT_ENABLE_ALL;
  }
  return ORT_ENABLE_ALL;
}

// The numbers of ONNX Runtime's element types are those of ONNX.
ir::DataType data_type(ONNXTensorElementDataType type) { return static_cast<ir::DataType>(static_cast<int>(type)); }
ONNXTensorElementDataType ort_type(ir::DataType type) {
  return static_cast<ONNXTensorElementDataType>(static_cast<int>(type));
}

template <typename Info>
void describe_type(const Info& info, Port& port) {
  switch (info.GetONNXType()) {
    case ONNX_TYPE_TENSOR:
      port.kind = ir::Type::Kind::kTensor;
      port.dtype = data_type(info.GetTensorTypeAndShapeInfo().GetElementType());
      return;
    case ONNX_TYPE_SPARSETENSOR:
      port.kind = ir::Type::Kind::kSparseTensor;
      return;
    case ONNX_TYPE_MAP:
      port.kind = ir::Type::Kind::kMap;
      return;
    case ONNX_TYPE_OPAQUE:
      port.kind = ir::Type::Kind::kOpaque;
      return;
    case ONNX_TYPE_SEQUENCE: {
      port.kind = ir::Type::Kind::kSequence;
      const Ort::TypeInfo element = info.GetSequenceTypeInfo().GetSequenceElementType();
      if (element.GetONNXType() == ONNX_TYPE_TENSOR) {
        port.dtype = data_type(element.GetTensorTypeAndShapeInfo().GetElementType());
      }
      return;
    }
    case ONNX_TYPE_OPTIONAL: {
      port.kind = ir::Type::Kind::kOptional;
      const Ort::TypeInfo element = info.GetOptionalTypeInfo().GetOptionalElementType();
      if (element.GetONNXType() == ONNX_TYPE_TENSOR) {
        port.dtype = data_type(element.GetTensorTypeAndShapeInfo().GetElementType());
      }
      return;
    }
    default:
      return;
  }
}

std::string list_names(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) text += (text.empty() ? "'" : ", '") + port.name + "'";
  return text.empty() ? "none" : text;
}

const Port* find_port(const std::vector<Port>& ports, std::string_view name) {
  const auto found = std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  return found == ports.end() ? nullptr : &*found;
}

Ort::Value to_ort(const Array& array, const Ort::MemoryInfo& memory) {
  if (array.is_string()) {
    Ort::AllocatorWithDefaultOptions allocator;
    Ort::Value value = Ort::Value::CreateTensor(allocator, array.dims.data(), array.dims.size(), ort_type(array.dtype));
    std::vector<const char*> texts;
    for (const std::string& text : array.strings) texts.push_back(text.c_str());
    value.FillStringTensor(texts.data(), texts.size());
    return value;
  }
  // ONNX Runtime only reads what it is fed; its interface lacks the const.
  static std::byte nothing[16];
  auto* data = const_cast<std::byte*>(array.bytes.empty() ? nothing : array.bytes.data());
  return Ort::Value::CreateTensor(memory, data, array.bytes.size(), array.dims.data(), array.dims.size(),
                                  ort_type(array.dtype));
}

Array from_ort(const Ort::Value& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  Array array;
  array.dtype = data_type(info.GetElementType());
  array.dims = info.GetShape();
  const auto count = static_cast<size_t>(array.num_elements());
  if (array.is_string()) {
    for (size_t i = 0; i < count; ++i) array.strings.push_back(value.GetStringTensorElement(i));
    return array;
  }
  const uint64_t size = packed_bytes(array.dtype, static_cast<int64_t>(count));
  const auto* data = static_cast<const std::byte*>(value.GetTensorRawData());
  array.bytes.assign(data, data + size);
  return array;
}

}  // namespace

struct Session::Impl {
  std::string where;
  WarningLog log;
  std::optional<Ort::Session> session;
  std::vector<Port> inputs, outputs;

  [[noreturn]] void refuse(const Ort::Exception& error, const char* next = "") const {
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = "ONNX Runtime: " + one_line(error.what()), .where = where, .next = next});
  }

  Ort::SessionOptions options(const SessionOptions& wanted) {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(wanted.threads);
    options.SetGraphOptimizationLevel(level_of(wanted.optimization));
    if (!wanted.memory_pattern) options.DisableMemPattern();
    if (!wanted.memory_arena) options.DisableCpuMemArena();
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_WARNING);
    Ort::ThrowOnError(Ort::GetApi().SetUserLoggingFunction(options, &WarningLog::receive, &log));
    return options;
  }

  void read_ports() {
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < session->GetInputCount(); ++i) {
      Port& port = inputs.emplace_back();
      port.name = session->GetInputNameAllocated(i, allocator).get();
      describe_type(session->GetInputTypeInfo(i), port);
    }
    for (size_t i = 0; i < session->GetOverridableInitializerCount(); ++i) {
      Port& port = inputs.emplace_back();
      port.name = session->GetOverridableInitializerNameAllocated(i, allocator).get();
      port.has_default = true;
      describe_type(session->GetOverridableInitializerTypeInfo(i), port);
    }
    for (size_t i = 0; i < session->GetOutputCount(); ++i) {
      Port& port = outputs.emplace_back();
      port.name = session->GetOutputNameAllocated(i, allocator).get();
      describe_type(session->GetOutputTypeInfo(i), port);
    }
  }

  void check_feeds(const Arrays& feeds) const {
    for (const auto& [name, array] : feeds) {
      const Port* port = find_port(inputs, name);
      if (port == nullptr) {
        throw Error(
            ErrorCode::kInvalidArgument,
            {.what = "has no input '" + name + "'", .where = where, .expected = "one of " + list_names(inputs)});
      }
      const std::string at = where + ", input '" + name + "'";
      if (port->kind != ir::Type::Kind::kTensor && port->kind != ir::Type::Kind::kOptional) {
        throw Error(ErrorCode::kUnsupported,
                    {.what = "takes a sequence, map or sparse tensor, which cannot be fed from an array", .where = at});
      }
      if (port->dtype != array.dtype) {
        throw Error(ErrorCode::kInvalidArgument, {.what = "is fed " + describe(array),
                                                  .where = at,
                                                  .expected = std::string(ir::name_of(port->dtype)),
                                                  .next = "convert the array"});
      }
    }
    for (const Port& port : inputs) {
      if (!port.has_default && feeds.find(port.name) == feeds.end() && port.kind != ir::Type::Kind::kOptional) {
        throw Error(
            ErrorCode::kInvalidArgument,
            {.what = "input '" + port.name + "' is not fed", .where = where, .expected = "an array for each input"});
      }
    }
  }

  void collect(const std::string& name, const Ort::Value& value, Arrays& results) const {
    if (!value.HasValue()) return;  // an empty optional
    if (value.IsTensor()) {
      results.insert_or_assign(name, from_ort(value));
      return;
    }
    const ONNXType type = value.GetTypeInfo().GetONNXType();
    if (type != ONNX_TYPE_SEQUENCE) {
      throw Error(ErrorCode::kUnsupported,
                  {.what = "output '" + name + "' is a map or sparse tensor, which is not an array",
                   .where = where,
                   .expected = "tensors and sequences of tensors",
                   .next = "ask for the other outputs by name"});
    }
    Ort::AllocatorWithDefaultOptions allocator;
    for (size_t i = 0; i < value.GetCount(); ++i) {
      collect(name + "[" + std::to_string(i) + "]", value.GetValue(static_cast<int>(i), allocator), results);
    }
  }
};

Session::Session(const std::filesystem::path& path, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->where = path.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(ErrorCode::kCannotRead,
                {.what = "there is no such file", .where = impl_->where, .expected = "an ONNX model"});
  }
  Ort::Env& env = environment();
  try {
    impl_->session.emplace(env, path.c_str(), impl_->options(options));
    impl_->read_ports();
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

Session::Session(const ir::Model& model, const SessionOptions& options) : impl_(std::make_unique<Impl>()) {
  impl_->where = model.path.empty() ? "the model in memory" : model.path.string();
  Ort::Env& env = environment();
  const std::string bytes = ir::serialize(model);
  try {
    Ort::SessionOptions ort_options = impl_->options(options);
    if (!model.path.empty()) {
      const std::string folder = std::filesystem::absolute(model.path).parent_path().string();
      ort_options.AddConfigEntry(kOrtSessionOptionsModelExternalInitializersFileFolderPath, folder.c_str());
    }
    impl_->session.emplace(env, bytes.data(), bytes.size(), ort_options);
    impl_->read_ports();
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<Port>& Session::inputs() const { return impl_->inputs; }
const std::vector<Port>& Session::outputs() const { return impl_->outputs; }
const Port* Session::find_input(std::string_view name) const { return find_port(impl_->inputs, name); }
const Port* Session::find_output(std::string_view name) const { return find_port(impl_->outputs, name); }
std::vector<std::string> Session::take_warnings() { return impl_->log.take(); }

Arrays Session::run(const Arrays& feeds, std::span<const std::string> wanted) {
  impl_->check_feeds(feeds);
  std::vector<const char*> input_names, output_names;
  std::vector<Ort::Value> values;
  Arrays results;
  try {
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    for (const auto& [name, array] : feeds) {
      input_names.push_back(name.c_str());
      values.push_back(to_ort(array, memory));
    }
    for (const Port& port : impl_->outputs) {
      const bool chosen = wanted.empty() || std::find(wanted.begin(), wanted.end(), port.name) != wanted.end();
      if (chosen) output_names.push_back(port.name.c_str());
    }
    for (const std::string& name : wanted) {
      if (find_output(name) == nullptr) {
        throw Error(ErrorCode::kInvalidArgument, {.what = "has no output '" + name + "'",
                                                  .where = impl_->where,
                                                  .expected = "one of " + list_names(impl_->outputs)});
      }
    }
    const Ort::RunOptions run_options;
    std::vector<Ort::Value> outputs = impl_->session->Run(run_options, input_names.data(), values.data(), values.size(),
                                                          output_names.data(), output_names.size());
    for (size_t i = 0; i < outputs.size(); ++i) impl_->collect(output_names[i], outputs[i], results);
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
  return results;
}

}  // namespace thaw::run
