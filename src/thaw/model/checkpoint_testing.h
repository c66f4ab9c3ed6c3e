// For tests: checkpoints made in place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/core/error_testing.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/ir/data/tensor.h"

namespace thaw::model {

// A tensor of float32, float16 or bfloat16 with these values, each of which the type must hold.
ir::Tensor tensor_of(std::string name, ir::DataType type, std::vector<int64_t> dims, const std::vector<float>& values);
ir::Tensor tensor_of(std::string name, std::vector<int64_t> dims, const std::vector<float>& values);  // float32

// What a tensor holds, whatever it is made of, as floats.
std::vector<float> floats_of(const ir::Tensor& tensor);

// The bytes of a safetensors file with these tensors.
std::string safetensors_of(const std::vector<ir::Tensor>& tensors);

// Writes config.json and model.safetensors.
void write_checkpoint(const TempFolder& folder, std::string_view config, const std::vector<ir::Tensor>& tensors);

}  // namespace thaw::model
