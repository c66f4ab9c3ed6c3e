// What ONNX Runtime says, as one line for users: without where in its sources, and on which machine, it says so. Internal to run/.
#pragma once

#include <string>
#include <string_view>

namespace thaw::run {

std::string one_line(std::string_view message);

// Whether there was too little memory: of this machine, and of a provider's device.
bool says_no_memory(std::string_view message);
bool says_no_device_memory(std::string_view message);

}  // namespace thaw::run
