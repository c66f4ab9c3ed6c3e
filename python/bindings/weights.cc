#include "weights.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "casters.h"
#include "interrupt.h"

#include "thaw/build.h"

namespace thaw::python {
namespace {

// Tensors as their owners have them, by DLPack or the buffer protocol.
using Weight = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

DataType type_of(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  const auto sized = [&](DataType of8, DataType of16, DataType of32, DataType of64) {
    switch (dtype.bits) {
      case 8:
        return of8;
      case 16:
        return of16;
      case 32:
        return of32;
      case 64:
        return of64;
      default:
        return DataType::kUndefined;
    }
  };
  if (dtype.lanes != 1) return DataType::kUndefined;
  using enum DataType;
  switch (static_cast<Code>(dtype.code)) {
    case Code::Float:
      return sized(kUndefined, kFloat16, kFloat, kDouble);
    case Code::Bfloat:
      return sized(kUndefined, kBfloat16, kUndefined, kUndefined);
    case Code::Int:
      return sized(kInt8, kInt16, kInt32, kInt64);
    case Code::UInt:
      return sized(kUint8, kUint16, kUint32, kUint64);
    case Code::Bool:
      return sized(kBool, kUndefined, kUndefined, kUndefined);
    default:
      return kUndefined;
  }
}

WeightBytes to_weight(std::string name, Weight&& given) {
  const DataType type = type_of(given.dtype());
  if (type == DataType::kUndefined) throw nb::type_error(("'" + name + "' has a dtype that ONNX has not").c_str());
  const auto owner = std::make_shared<Weight>(std::move(given));
  std::vector<int64_t> dims;
  for (size_t i = 0; i < owner->ndim(); ++i) dims.push_back(static_cast<int64_t>(owner->shape(i)));
  const std::span bytes(static_cast<const std::byte*>(owner->data()), owner->nbytes());
  return {.name = std::move(name), .dtype = type, .dims = std::move(dims), .bytes = bytes, .owner = owner};
}

}  // namespace

void bind_build_in_memory(nb::module_& m) {
  m.def(
      "build_in_memory",
      [](const std::filesystem::path& settings, std::vector<std::pair<std::string, Weight>> weights,
         const std::filesystem::path& folder, const BuildOptions& options) {
        CheckpointInMemory checkpoint{.folder = settings, .weights = {}};
        for (auto& [name, weight] : weights)
          checkpoint.weights.push_back(to_weight(std::move(name), std::move(weight)));
        return interruptible([&] { return build(checkpoint, folder, options); });
      },
      nb::arg("settings"), nb::arg("weights"), nb::arg("folder"), nb::arg("options"),
      nb::sig("def build_in_memory(settings: str | os.PathLike[str], weights: list[tuple[str, typing.Any]], "
              "folder: str | os.PathLike[str], options: BuildOptions) -> BuildReport"));
}

}  // namespace thaw::python
