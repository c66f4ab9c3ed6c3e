// Prepares inputs of models from images, clips and recordings.
//
//   const std::vector<std::filesystem::path> files = {"cat.jpg", "page.png"};
//   thaw::PreparedInputs fed = thaw::inputs(files, {.preset = "Qwen2.5-VL-3B-Instruct"});
//   // fed.arrays: pixel_values float32 [num_patches, 1176], grid_thw int64 [2, 3]
//
// The arrays equal those of transformers' processors of the family; docs/guide/inputs.md has the measured differences.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thaw/array.h"
#include "thaw/export.h"
#include "thaw/report.h"

namespace thaw {

struct ImageSize {
  int64_t width = 0, height = 0;  // pixels
  bool operator==(const ImageSize&) const = default;
};

// The library whose resizing is reproduced. Pillow's and torch's are antialiased filters on 8-bit samples with different fixed-point
// arithmetic: some samples differ by 1 of 255. OpenCV's is INTER_LINEAR, not antialiased: for image models with the bilinear filter.
enum class Resampler : uint8_t { kPillow, kTorch, kOpenCv };

// How an image is resized to the model's size.
enum class Fit : uint8_t {
  kKeep,       // unchanged
  kStretch,    // to the size, without regard to the aspect ratio
  kLetterbox,  // to the largest size that fits, with a border
  kHeight,     // to the height, the width in proportion and rounded up: for lines of text
};

// For any model with an image input, [batch, channels, height, width] or [batch, height, width, channels].
// Element = (pixel * scale - mean) / std.
struct ImageModelOptions {
  std::filesystem::path model;  // its input gives what is not given here: layout, element type, fixed sizes
  std::string input;            // name; empty: the only input with four axes
  std::optional<Fit> fit;       // nullopt: kStretch where a size is given or the model has one, else kKeep
  ImageSize size;
  std::optional<double> scale;        // nullopt: 1/255 for floating-point inputs, 1 for integers
  std::vector<double> mean, std;      // one value, or one for each channel; empty: 0 and 1
  std::optional<bool> channels_last;  // NHWC; nullopt: by which axis of the model's input is 3
  bool bgr = false;
  int border = 114;         // pixel value of a letterbox's border, 0 to 255
  bool is_centered = true;  // center the image in its letterbox; else upper left
  bool bilinear = true;     // else bicubic
};

struct InputsOptions {
  // A checkpoint's folder with preprocessor_config.json, or a family: "qwen2_vl", "qwen2_5_vl", "qwen3_vl",
  // "phi4_mm", "qwen3_asr". Empty: image_model.
  std::string preset;
  std::vector<std::vector<std::filesystem::path>> clips = {};  // frames of each video, in order
  std::optional<double> frame_rate =
      {};                              // frames per second of the clips: for prompts of Qwen3-VL, which have timestamps
  std::optional<ImageSize> size = {};  // Qwen's: instead of a size by number of pixels
  std::optional<int64_t> min_pixels = {}, max_pixels = {};  // Qwen's: instead of the checkpoint's
  std::optional<Resampler> resampler = {};                  // nullopt: kPillow, for Phi-4-multimodal kTorch
  // Qwen's: `image` float32 [num_images, 3, height, width], of images of one size, for towers that are built with
  // VisionInput::kImage; instead of patches and grid.
  bool whole_images = false;
  // The prompt, as the checkpoint's chat template writes it. Gives input_ids and attention_mask, int64 [1, seq], by the checkpoint's
  // tokenizer.json. Placeholders of images, clips and recordings are repeated once for each of their tokens. Images and clips are in
  // the order of the prompt; without one, images first.
  std::optional<std::string> text = {};
  // The same as token ids, instead of a text. Clips of Qwen3-VL have a placeholder for each group of frames, after its timestamp.
  std::vector<int64_t> tokens = {};
  bool upright = true;  // apply the EXIF orientation
  ImageModelOptions image_model = {};
};

// One file or clip.
struct PreparedFile {
  std::string name;
  ImageSize from, to;  // of images, before and after; Phi-4's: all crops side by side
  int64_t frames = 0;  // of clips: number of frames; of recordings: frames of features
  double seconds = 0;  // of recordings
  int64_t tokens = 0;  // of the language model; 0 where unknown
};

struct PreparedInputs {
  std::string output = {};  // path of the file that was written
  Arrays arrays;            // by the input names of what `build` makes, or of the model
  std::vector<PreparedFile> files;
  std::vector<std::string> warnings;  // elements outside the range of an integer type
};

// `output`: an .npz file for the arrays; empty: none. Throws thaw::Error for files that cannot be read, are
// damaged or too large, for options that contradict each other, and for sizes that the family does not support (the message says
// which it does).
THAW_API PreparedInputs inputs(std::span<const std::filesystem::path> files, const InputsOptions& options,
                               const std::filesystem::path& output = {});

THAW_API std::string to_json(const PreparedInputs& made);
THAW_API std::string to_text(const PreparedInputs& made, const TextOptions& how = {});

}  // namespace thaw
