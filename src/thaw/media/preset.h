// How a family wants its images and recordings: what its processor's files say, or its defaults.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "thaw/inputs.h"
#include "thaw/media/audio/audio_settings.h"
#include "thaw/media/image/resample.h"

namespace thaw::media {

enum class Family : uint8_t { kQwen2Vl, kQwen25Vl, kQwen3Vl, kPhi4, kQwen3Asr };

// preprocessor_config.json, or "image_processor" or "video_processor" in processor_config.json.
struct ImageSettings {
  bool resizes = true, rescales = true, normalizes = true;
  double rescale_factor = 1.0 / 255;
  std::array<double, 3> mean = {}, std = {1, 1, 1};  // of red, green, blue after rescaling
  Filter filter = Filter::kBicubic;
  int64_t patch = 14;  // pixels of a patch's side
  // Qwen's: patches of a token's side, frames of a patch, and the least and most pixels of a picture.
  int64_t merge = 2, temporal_patch = 2, min_pixels = 0, max_pixels = 0;
  int64_t crop = 448, most_crops = 36;  // Phi-4's

  int64_t factor() const { return patch * merge; }  // pixels of a token's side
};

struct Preset {
  Family family = Family::kQwen2Vl;
  ImageSettings images, clips;
  AudioSettings audio;
  // Tokens that stand for a file in a prompt; negative where the checkpoint has none.
  int64_t image_token = -1, clip_token = -1, audio_token = -1;
  double steps_per_second =
      0;  // Qwen2.5-VL's: positions of time in a clip; 0: one a group of frames, whatever its time

  bool takes_audio() const { return family == Family::kQwen3Asr; }
  bool takes_clips() const { return family != Family::kPhi4 && !takes_audio(); }
};

// Of the folder of a checkpoint, or of a family by name. Files count as in transformers: "image_processor" of
// processor_config.json before preprocessor_config.json; for clips "video_processor" there, then
// video_preprocessor_config.json, then what counts for images. Both spellings of the bounds on pixels are read:
// min_pixels and max_pixels, and "size" with shortest_edge and longest_edge. What the files do not say follows from the
// tower's config.
// Throws thaw::Error for a name that is no folder and no family, a checkpoint of another family, and wrong values.
Preset preset_for(const std::string& checkpoint_or_family);

// "qwen2_vl, qwen2_5_vl, …", for messages.
std::string family_names();

}  // namespace thaw::media
