// Models for the tests of run/, written in ONNX's text format.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace thaw::run {

// A folder of its own that goes away with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes the model of IR version 8, opset 17, whose graph is `graph`: "g (float[n,3] x) => (float[n,3] y) { y =
  // Relu(x) }".
  std::filesystem::path write_model(std::string_view name, std::string_view graph) const;

 private:
  std::filesystem::path path_;
};

}  // namespace thaw::run
