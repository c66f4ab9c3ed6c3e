// Models for the tests of run/, written in ONNX's text format.
#pragma once

#include <filesystem>
#include <string_view>

#include "thaw/core/temp_folder_testing.h"

namespace thaw::run {

class ModelFolder : public TempFolder {
 public:
  // Writes NAME.onnx, a model of IR version 8 and opset 17 whose graph is `graph`: "g (float[n,3] x) => (float[n,3] y)
  // { y = Relu(x) }".
  std::filesystem::path write_model(std::string_view name, std::string_view graph) const;
};

}  // namespace thaw::run
