#include "thaw/run/run_testing.h"

#include <stdexcept>
#include <string>

#include <onnx/defs/parser.h>

namespace thaw::run {

std::filesystem::path ModelFolder::write_model(std::string_view name, std::string_view graph) const {
  onnx::ModelProto model;
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]>\n" + std::string(graph);
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  return write(std::string(name) + ".onnx", model.SerializeAsString());
}

}  // namespace thaw::run
