// What a model is fed, made of what its users have: images, clips and recordings.
//
//   thaw::PreparedInputs fed = thaw::inputs({"cat.jpg", "page.png"}, {.preset = "Qwen2.5-VL-3B-Instruct"});
//   // fed.arrays: pixel_values float32 [num_patches, 1176], grid_thw int64 [2, 3]
//
// The arrays equal those of transformers' processors of the family (docs/feeding.md has the differences, measured).
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

// Whose arithmetic resizes. Pillow's and torch's are antialiased filters on 8-bit samples, in another fixed point each, so
// that some samples differ by one level of 255. OpenCV's is its INTER_LINEAR, which looks at four samples at any reduction:
// for any image model, with the bilinear filter.
enum class Resampler : uint8_t { kPillow, kTorch, kOpenCv };

// How an image becomes the size that a model takes.
enum class Fit : uint8_t {
  kKeep,       // as it is
  kStretch,    // to the size, whatever its proportions
  kLetterbox,  // to the largest that fits inside the size, with a border
  kHeight,     // to the height, the width in proportion, rounded up: a line of text
};

// For any model that takes images. Sample = (pixel * scale - mean) / std.
struct ImageModelOptions {
  std::filesystem::path model;  // its input says what is not said here: layout, element type, sizes that are fixed
  std::string input;            // empty: the only input of four axes
  std::optional<Fit> fit;       // nullopt: kStretch where the model's height and width are fixed, else kKeep
  ImageSize size;
  std::optional<double> scale;        // nullopt: 1/255 for inputs of floats, 1 for integers
  std::vector<double> mean, std;      // one for all channels or one each; empty: 0 and 1
  std::optional<bool> channels_last;  // NHWC; nullopt: as the model's input says, where an axis is 3
  bool bgr = false;
  int border = 114;         // the samples of a letterbox's border, 0 to 255
  bool is_centered = true;  // the image stands in the middle of its letterbox; else at its upper left
  bool bilinear = true;     // else bicubic
};

struct InputsOptions {
  // A checkpoint's folder, whose preprocessor_config.json counts, or a family: "qwen2_vl", "qwen2_5_vl", "qwen3_vl",
  // "phi4_mm", "qwen3_asr". Empty: image_model says everything.
  std::string preset;
  std::vector<std::vector<std::filesystem::path>> clips = {};  // frames of videos, in their order
  std::optional<double> frame_rate = {};  // frames a second of the clips: for prompts of Qwen3-VL, which tell the time
  std::optional<ImageSize> size = {};     // Qwen's: this size, instead of one that the number of pixels decides
  std::optional<int64_t> min_pixels = {}, max_pixels = {};  // Qwen's, instead of the checkpoint's
  std::optional<Resampler> resampler = {};                  // nullopt: kPillow, for Phi-4-multimodal kTorch
  // Qwen's: `image` float32 [num_images, 3, height, width], of images of one size, as towers take it that are built with
  // VisionInput::kImage; not patches and their grid.
  bool whole_images = false;
  // The prompt, as the checkpoint's chat template writes it: input_ids and attention_mask, int64 [1, seq], by the
  // checkpoint's tokenizer.json; its placeholders of images, clips and recordings are repeated as often as each has tokens.
  // Images and clips stand in the arrays in the order of the prompt, without one images first.
  std::optional<std::string> text = {};
  // The same as ids, in place of a text; of Qwen3-VL's clips with a placeholder for each group of frames, behind its time.
  std::vector<int64_t> tokens = {};
  bool upright = true;  // a photograph that says how the camera was held is turned
  ImageModelOptions image_model = {};
};

// What became of a file, or of a clip.
struct PreparedFile {
  std::string name;
  ImageSize from, to;  // of images; Phi-4's: all of its crops side by side
  int64_t frames = 0;  // of clips: frames given; of recordings: frames of features
  double seconds = 0;  // of recordings
  int64_t tokens = 0;  // that the language model sees of it; 0 where that is not known
};

struct PreparedInputs {
  std::string output = {};  // the file that was written
  Arrays arrays;            // by the names of the inputs of what `build` makes, or of the model's own input
  std::vector<PreparedFile> files;
  std::vector<std::string> warnings;  // elements of an input of integers that are past its type's ends
};

// Throws thaw::Error for files that cannot be read, are damaged or ask for too much, sizes that the family cannot take
// (the message says which it can), and options that do not go together.
// `output`: an .npz file for the arrays; empty: none is written.
THAW_API PreparedInputs inputs(std::span<const std::filesystem::path> files, const InputsOptions& options,
                               const std::filesystem::path& output = {});

THAW_API std::string to_json(const PreparedInputs& made);
THAW_API std::string to_text(const PreparedInputs& made, const TextOptions& how = {});

}  // namespace thaw
