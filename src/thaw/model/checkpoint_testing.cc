#include "thaw/model/checkpoint_testing.h"

#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/small_float.h"

namespace thaw::model {
namespace {

const FloatFormat& format_of(ir::DataType type) {
  return type == ir::DataType::kFloat16 ? kFloat16Format : kBfloat16Format;
}

const char* dtype_of(ir::DataType type) {
  if (type == ir::DataType::kFloat) return "F32";
  if (type == ir::DataType::kInt32) return "I32";
  return type == ir::DataType::kFloat16 ? "F16" : "BF16";
}

}  // namespace

ir::Tensor tensor_of(std::string name, ir::DataType type, std::vector<int64_t> dims, const std::vector<float>& values) {
  std::vector<std::byte> bytes;
  for (const float value : values) {
    uint32_t code;
    size_t size = 4;
    if (type == ir::DataType::kFloat) {
      std::memcpy(&code, &value, sizeof code);
    } else {
      code = encode_float(format_of(type), value);
      size = 2;
    }
    for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(code >> (8 * i)));
  }
  return ir::Tensor::from_bytes(std::move(name), type, std::move(dims), std::move(bytes));
}

ir::Tensor tensor_of(std::string name, std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor_of(std::move(name), ir::DataType::kFloat, std::move(dims), values);
}

std::vector<float> floats_of(const ir::Tensor& tensor) {
  std::vector<float> values;
  for (const double value : tensor.to_double()) values.push_back(static_cast<float>(value));
  return values;
}

std::string safetensors_of(const std::vector<ir::Tensor>& tensors) {
  std::string header, data;
  for (const ir::Tensor& tensor : tensors) {
    const size_t begin = data.size();
    const auto bytes = tensor.bytes();
    data.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", header.empty() ? "{" : ",",
                          tensor.name, dtype_of(tensor.data_type), fmt::join(tensor.dims, ","), begin, data.size());
  }
  header += header.empty() ? "{}" : "}";
  const uint64_t size = header.size();
  std::string file(sizeof size, '\0');
  std::memcpy(file.data(), &size, sizeof size);
  return file + header + data;
}

void write_checkpoint(const TempFolder& folder, std::string_view config, const std::vector<ir::Tensor>& tensors) {
  folder.write("config.json", config);
  folder.write("model.safetensors", safetensors_of(tensors));
}

}  // namespace thaw::model
