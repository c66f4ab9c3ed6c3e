// What the driver calls a device, where ONNX Runtime does not tell: that of its CUDA and TensorRT providers. Internal to run/.
#pragma once

#include <map>
#include <string>

namespace thaw::run {

// "GPU NVIDIA H100 80GB HBM3", of a provider that is loaded in this process; empty where it is not known.
std::string device_name(const std::string& provider_word, const std::map<std::string, std::string>& options);

}  // namespace thaw::run
