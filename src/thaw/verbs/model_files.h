// The models that a call names, each by itself or by the folder that it is in.
#pragma once

#include <string>
#include <vector>

namespace thaw::verbs {

// Files as they are named, and every .onnx file below a folder, by name. Throws thaw::Error for a folder that has none.
std::vector<std::string> model_files(const std::vector<std::string>& named);

}  // namespace thaw::verbs
