// Images for any model: what its input takes, and images made so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/inputs.h"
#include "thaw/ir/graph/model.h"
#include "thaw/media/image/image.h"

namespace thaw::media {

// An input of a model that is an image, or a batch of them.
struct ImageInput {
  std::string name;
  DataType dtype = DataType::kFloat;
  bool has_batch = true;  // [N, …]; else three axes
  bool channels_last = false;
  int64_t channels = 3;                  // or 1: gray
  std::optional<int64_t> width, height;  // where they are fixed
  std::optional<int64_t> batch;          // where it is
};

// The input that the options name, or the only one of four axes of which one is 1 or 3 channels. Throws thaw::Error
// (kInvalidArgument) where there is none or are several, and for an input that is no image.
ImageInput image_input(const ir::Model& model, const ImageModelOptions& options);

// One array by the input's name: [N, channels, height, width] or as its layout is. Images of a line of text (kHeight)
// are padded at the right to the widest with zeros. Throws thaw::Error for sizes that the input does not have, and for
// images of different sizes in one batch.
PreparedInputs image_model_inputs(std::span<const std::filesystem::path> files, const ImageInput& input,
                                  const InputsOptions& options);

}  // namespace thaw::media
