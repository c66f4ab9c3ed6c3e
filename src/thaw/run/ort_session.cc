#include "thaw/run/ort_session.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include <onnxruntime_cxx_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include "thaw/core/error.h"
#include "thaw/run/elements.h"
#include "thaw/run/ort_providers.h"
#include "thaw/run/profile.h"
#include "thaw/run/runtime.h"
#include "thaw/run/runtime_message.h"
#include "thaw/run/young_api.h"

namespace thaw::run {
namespace {

constexpr size_t kMaxWarnings = 32;
// The first makes numbers in float32 of those in 16 bits, the second blocks for MatMulNBits of those for DequantizeLinear.
constexpr std::string_view kCopyingOptimizers = "ConstantFolding;QDQSelectorActionTransformer";
constexpr const char* kRecordAssignment = "session.record_ep_graph_assignment_info";  // of ONNX Runtime 1.24

}  // namespace

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

namespace {

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

Ort::Value to_ort(const ArrayView& array, const Ort::MemoryInfo& memory) {
  if (array.dtype == ir::DataType::kString) {
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

// The bytes stay the value's.
ArrayView from_ort(std::string name, const Ort::Value& value) {
  const auto info = value.GetTensorTypeAndShapeInfo();
  ArrayView array;
  array.name = std::move(name);
  array.dtype = data_type(info.GetElementType());
  array.dims = info.GetShape();
  const int64_t count = element_count(array.dims);
  if (array.dtype == ir::DataType::kString) {
    for (int64_t i = 0; i < count; ++i) array.strings.push_back(value.GetStringTensorElement(static_cast<size_t>(i)));
    return array;
  }
  array.bytes = {static_cast<const std::byte*>(value.GetTensorRawData()), packed_bytes(array.dtype, count)};
  return array;
}

class HeldValue : public HeldArray {
 public:
  explicit HeldValue(Ort::Value held) : value(std::move(held)) {}
  const Ort::Value value;
};

}  // namespace

void warm_up_runtime() { environment(); }

struct OrtSession::Impl {
  std::string where;
  WarningLog log;
  std::vector<Ort::Value> weights;  // outlive the session
  std::optional<Ort::Session> session;
  std::vector<Port> inputs, outputs;
  Runtime runtime;
  std::vector<const OrtMemoryInfo*> memories;  // of outputs, as far as ONNX Runtime tells; the session's

  [[noreturn]] void refuse(const Ort::Exception& error) const {
    const std::string message = one_line(error.what());
    if (says_no_memory(message) || says_no_device_memory(message))
      throw Error(ErrorCode::kOutOfBudget, {.what = "ONNX Runtime: " + message, .where = where});
    throw Error(ErrorCode::kRuntimeFailed,
                {.what = "ONNX Runtime " + runtime_version() + ": " + message, .where = where});
  }

  Ort::SessionOptions options(const SessionOptions& wanted, Ort::Env& env) {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(wanted.threads);
    options.SetGraphOptimizationLevel(level_of(wanted.optimization));
    if (!wanted.memory_pattern) options.DisableMemPattern();
    if (!wanted.memory_arena) options.DisableCpuMemArena();
    if (!wanted.copied_weights) {
      options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
      options.AddConfigEntry(kOrtSessionOptionsDisableSpecifiedOptimizers, std::string(kCopyingOptimizers).c_str());
    }
    if (!wanted.spinning) options.AddConfigEntry(kOrtSessionOptionsConfigAllowIntraOpSpinning, "0");
    options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_WARNING);
    Ort::ThrowOnError(Ort::GetApi().SetUserLoggingFunction(options, &WarningLog::receive, &log));
    runtime.version = runtime_version();
    runtime.providers = append_providers(wanted.providers, env, options);
    if (wanted.profile) {
      options.EnableProfiling(std::string(kProfileFolder).c_str());
      if (runtime_api(AssignmentApi::kVersion) != nullptr) options.AddConfigEntry(kRecordAssignment, "1");
    }
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

  void read_memories() {
    const OrtApi* const table = runtime_api(MemoryApi::kVersion);
    if (runtime.providers.empty() || table == nullptr) return;
    memories.resize(outputs.size());
    const Ort::Status status(MemoryApi(table).of_outputs(*session, memories.data(), memories.size()));
    if (!status.IsOK()) memories.clear();
  }

  // Null where it is this process's.
  const OrtMemoryInfo* device_memory_of(const std::string& output) const {
    const auto at = std::ranges::find(outputs, output, &Port::name);
    const auto index = static_cast<size_t>(at - outputs.begin());
    if (index >= memories.size() || memories[index] == nullptr) return nullptr;
    OrtMemoryInfoDeviceType type = OrtMemoryInfoDeviceType_CPU;
    Ort::GetApi().MemoryInfoGetDeviceType(memories[index], &type);
    return type == OrtMemoryInfoDeviceType_CPU ? nullptr : memories[index];
  }

  // Outputs in the order of `names`, in this process's memory, but for the last `held` of them: those are where they are computed.
  std::vector<Ort::Value> outputs_of(const std::vector<const char*>& input_names,
                                     const std::vector<const OrtValue*>& fed, const std::vector<const char*>& names,
                                     size_t held) {
    const Ort::RunOptions run_options;
    const auto is_on_device = [&](const char* name) { return device_memory_of(name) != nullptr; };
    if (std::any_of(names.end() - static_cast<ptrdiff_t>(held), names.end(), is_on_device)) {
      Ort::IoBinding binding(*session);
      for (size_t i = 0; i < fed.size(); ++i)
        Ort::ThrowOnError(Ort::GetApi().BindInput(binding, input_names[i], fed[i]));
      const Ort::MemoryInfo here = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
      for (size_t i = 0; i < names.size(); ++i) {
        const OrtMemoryInfo* const memory = i + held < names.size() ? nullptr : device_memory_of(names[i]);
        Ort::ThrowOnError(Ort::GetApi().BindOutputToDevice(binding, names[i], memory != nullptr ? memory : here));
      }
      session->Run(run_options, binding);
      return binding.GetOutputValues();
    }
    std::vector<OrtValue*> made(names.size());
    Ort::ThrowOnError(Ort::GetApi().Run(*session, run_options, input_names.data(), fed.data(), fed.size(), names.data(),
                                        names.size(), made.data()));
    std::vector<Ort::Value> values;
    for (OrtValue* const value : made) values.emplace_back(value);
    return values;
  }

  // As ONNX Runtime says it, if it does.
  std::vector<PlacedNode> placed_nodes() const {
    std::vector<PlacedNode> placed;
    const OrtApi* const table = runtime_api(AssignmentApi::kVersion);
    if (table == nullptr) return placed;
    const AssignmentApi api(table);
    const OrtEpAssignedSubgraph* const* parts = nullptr;
    size_t count = 0;
    Ort::ThrowOnError(api.parts(*session, &parts, &count));
    const auto text = [](auto call, const auto* of) {
      const char* found = nullptr;
      Ort::ThrowOnError(call(of, &found));
      return std::string(found != nullptr ? found : "");
    };
    for (size_t i = 0; i < count; ++i) {
      const OrtEpAssignedNode* const* nodes = nullptr;
      size_t size = 0;
      Ort::ThrowOnError(api.nodes(parts[i], &nodes, &size));
      for (size_t j = 0; j < size; ++j)
        placed.push_back({text(api.name_of, nodes[j]), text(api.type_of, nodes[j]), text(api.provider_of, parts[i])});
    }
    return placed;
  }

  // `parts` keeps what a sequence is taken apart into.
  void collect(const std::string& name, const Ort::Value& value, std::vector<ArrayView>& results,
               std::deque<Ort::Value>& parts) const {
    if (!value.HasValue()) return;  // an empty optional
    if (value.IsTensor()) {
      results.push_back(from_ort(name, value));
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
      const Ort::Value& part = parts.emplace_back(value.GetValue(static_cast<int>(i), allocator));
      collect(name + "[" + std::to_string(i) + "]", part, results, parts);
    }
  }
};

OrtSession::OrtSession(const std::filesystem::path& path, const SessionOptions& options)
    : impl_(std::make_unique<Impl>()) {
  impl_->where = path.string();
  Ort::Env& env = environment();
  try {
    impl_->session.emplace(env, path.c_str(), impl_->options(options, env));
    impl_->read_ports();
    impl_->read_memories();
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

OrtSession::OrtSession(std::span<const std::byte> model, const std::string& folder, std::string where,
                       const SessionOptions& options, std::span<const ArrayView> weights)
    : impl_(std::make_unique<Impl>()) {
  impl_->where = std::move(where);
  Ort::Env& env = environment();
  try {
    Ort::SessionOptions ort_options = impl_->options(options, env);
    if (!folder.empty()) {
      ort_options.AddConfigEntry(kOrtSessionOptionsModelExternalInitializersFileFolderPath, folder.c_str());
    }
    std::vector<std::string> names;
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    for (const ArrayView& weight : weights) {
      names.push_back(weight.name);
      impl_->weights.push_back(to_ort(weight, memory));
    }
    if (!names.empty()) ort_options.AddExternalInitializers(names, impl_->weights);
    impl_->session.emplace(env, model.data(), model.size(), ort_options);
    impl_->read_ports();
    impl_->read_memories();
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

OrtSession::~OrtSession() = default;

const std::vector<Port>& OrtSession::inputs() const { return impl_->inputs; }
const std::vector<Port>& OrtSession::outputs() const { return impl_->outputs; }
const Runtime& OrtSession::runtime() const { return impl_->runtime; }

Placement OrtSession::placement() {
  try {
    Placement placement{.nodes = impl_->placed_nodes(), .timed = {}};
    Ort::AllocatorWithDefaultOptions allocator;
    const std::string path = impl_->session->EndProfilingAllocated(allocator).get();
    add_profile(take_profile(path), impl_->where, placement);
    return placement;
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

std::vector<std::string> OrtSession::take_warnings() { return impl_->log.take(); }

HeldArrays OrtSession::run(std::span<const ArrayView> feeds, const HeldArrays& fed, std::span<const std::string> wanted,
                           std::span<const std::string> held,
                           const std::function<void(std::span<const ArrayView>)>& take) {
  std::vector<const char*> input_names, output_names;
  std::vector<Ort::Value> values;
  std::vector<const OrtValue*> inputs;
  std::vector<ArrayView> results;
  std::deque<Ort::Value> parts;
  for (const std::string& name : wanted) output_names.push_back(name.c_str());
  for (const std::string& name : held) output_names.push_back(name.c_str());
  try {
    const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    for (const ArrayView& feed : feeds) {
      input_names.push_back(feed.name.c_str());
      values.push_back(to_ort(feed, memory));
    }
    for (const Ort::Value& value : values) inputs.push_back(value);
    for (const auto& [name, array] : fed) {
      const auto* const here = dynamic_cast<const HeldValue*>(array.get());
      if (here == nullptr) throw HeldArrayLost(impl_->where);
      input_names.push_back(name.c_str());
      inputs.push_back(here->value);
    }
    std::vector<Ort::Value> outputs = impl_->outputs_of(input_names, inputs, output_names, held.size());
    HeldArrays kept;
    for (size_t i = 0; i < held.size(); ++i)
      kept.emplace(held[i], std::make_shared<HeldValue>(std::move(outputs[wanted.size() + i])));
    for (size_t i = 0; i < wanted.size(); ++i) impl_->collect(wanted[i], outputs[i], results, parts);
    take(results);
    return kept;
  } catch (const Ort::Exception& failure) {
    impl_->refuse(failure);
  }
}

}  // namespace thaw::run
