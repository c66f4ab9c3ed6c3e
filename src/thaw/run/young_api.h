// Functions of ONNX Runtime's C interface that are younger than the headers that Thaw is built with, which are those of Debian.
//
// The interface is a table that only ever grows at its end, so that a function keeps its place for good; their places are those of ONNX
// Runtime's own header onnxruntime_c_api.h. What an older library lacks is never asked for (young_table() in run/runtime.h). Internal to run/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <onnxruntime_c_api.h>

struct OrtEpDevice;
struct OrtHardwareDevice;
struct OrtKeyValuePairs;
struct OrtEpAssignedSubgraph;
struct OrtEpAssignedNode;

namespace thaw::run {

// A function at its place in the table.
template <typename Signature, size_t kPlace>
class YoungFunction;

template <typename Result, typename... Arguments, size_t kPlace>
class YoungFunction<Result(Arguments...), kPlace> {
 public:
  explicit YoungFunction(const OrtApi* table) {
    std::memcpy(static_cast<void*>(&function_), reinterpret_cast<const std::byte*>(table) + kPlace * sizeof function_,
                sizeof function_);
  }
  Result operator()(Arguments... arguments) const { return function_(arguments...); }

 private:
  Result (*function_)(Arguments...) = nullptr;
};

// Since 1.22: providers in libraries of their own, and the devices that they have.
struct PluginApi {
  static constexpr uint32_t kVersion = 22;
  explicit PluginApi(const OrtApi* table)
      : keys_and_values(table),
        add_library(table),
        devices(table),
        append(table),
        type_of(table),
        vendor_of(table),
        metadata_of(table),
        provider_of(table),
        hardware_of(table) {}

  YoungFunction<void(const OrtKeyValuePairs*, const char* const**, const char* const**, size_t*), 298> keys_and_values;
  YoungFunction<OrtStatus*(OrtEnv*, const char* name, const char* path), 301> add_library;
  YoungFunction<OrtStatus*(const OrtEnv*, const OrtEpDevice* const**, size_t*), 303> devices;
  YoungFunction<OrtStatus*(OrtSessionOptions*, OrtEnv*, const OrtEpDevice* const*, size_t, const char* const* keys,
                           const char* const* values, size_t),
                304>
      append;
  YoungFunction<int(const OrtHardwareDevice*), 307> type_of;
  YoungFunction<const char*(const OrtHardwareDevice*), 309> vendor_of;
  YoungFunction<const OrtKeyValuePairs*(const OrtHardwareDevice*), 311> metadata_of;
  YoungFunction<const char*(const OrtEpDevice*), 312> provider_of;
  YoungFunction<const OrtHardwareDevice*(const OrtEpDevice*), 316> hardware_of;
};

// Since 1.23: where a session leaves its outputs.
struct MemoryApi {
  static constexpr uint32_t kVersion = 23;
  explicit MemoryApi(const OrtApi* table) : of_outputs(table) {}

  YoungFunction<OrtStatus*(const ::OrtSession*, const OrtMemoryInfo**, size_t), 381> of_outputs;
};

// Since 1.24: which provider took which node.
struct AssignmentApi {
  static constexpr uint32_t kVersion = 24;
  explicit AssignmentApi(const OrtApi* table)
      : parts(table), provider_of(table), nodes(table), name_of(table), type_of(table) {}

  YoungFunction<OrtStatus*(const ::OrtSession*, const OrtEpAssignedSubgraph* const**, size_t*), 407> parts;
  YoungFunction<OrtStatus*(const OrtEpAssignedSubgraph*, const char**), 408> provider_of;
  YoungFunction<OrtStatus*(const OrtEpAssignedSubgraph*, const OrtEpAssignedNode* const**, size_t*), 409> nodes;
  YoungFunction<OrtStatus*(const OrtEpAssignedNode*, const char**), 410> name_of;
  YoungFunction<OrtStatus*(const OrtEpAssignedNode*, const char**), 412> type_of;
};

}  // namespace thaw::run
