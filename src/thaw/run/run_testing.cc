#include "thaw/run/run_testing.h"

#include <atomic>
#include <fstream>
#include <stdexcept>

#include <onnx/defs/parser.h>
#include <unistd.h>

namespace thaw::run {

TemporaryFolder::TemporaryFolder() {
  static std::atomic<int> count = 0;
  path_ =
      std::filesystem::temp_directory_path() / ("thaw_run_" + std::to_string(getpid()) + "_" + std::to_string(count++));
  std::filesystem::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::filesystem::path TemporaryFolder::write_model(std::string_view name, std::string_view graph) const {
  onnx::ModelProto model;
  const std::string text = "<ir_version: 8, opset_import: [\"\" : 17]>\n" + std::string(graph);
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  const std::filesystem::path file = path_ / (std::string(name) + ".onnx");
  std::ofstream stream(file, std::ios::binary);
  if (!model.SerializeToOstream(&stream)) throw std::runtime_error("cannot write " + file.string());
  return file;
}

}  // namespace thaw::run
