// Images or recordings as the samples that a model is measured on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/media/input_maker.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::media {

// Each file is one sample. It is decoded and made ready when it is read, and nothing of it is kept.
class FileSamples : public quantizing::SampleSource {
 public:
  // `path`: a folder, of whose files those that InputMaker::takes() count, in the order of their names; or one file.
  // Throws thaw::Error where there are none, and for options that do not go together.
  FileSamples(const std::filesystem::path& path, const InputsOptions& options, const ir::Model& model);

  size_t size() const override { return files_.size(); }
  std::string name(size_t i) const override { return files_[i].filename().string(); }
  // A tower's image_grid_thw, as onnxruntime-genai calls it, is grid_thw.
  Arrays read(size_t i, const std::vector<std::string>& inputs) const override;

 private:
  InputMaker maker_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace thaw::media
