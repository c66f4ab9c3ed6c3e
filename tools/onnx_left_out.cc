// Stands in for the version converter, which tools/onnx.cmake leaves out of the ONNX library: the inliner names it, and
// the checker and the schemas need of the inliner only how it renames.
#include <stdexcept>

#include "onnx/version_converter/convert.h"

namespace onnx::version_conversion {

ModelProto ConvertVersion(const ModelProto&, int) {
  throw std::runtime_error("this ONNX library was built without the version converter");
}

}  // namespace onnx::version_conversion
