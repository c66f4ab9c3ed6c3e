// How features are made of a recording: the fields of Whisper's and Qwen3-ASR's feature extractors.
#pragma once

#include <cstdint>

namespace thaw::media {

// In preprocessor_config.json, or "feature_extractor" in processor_config.json.
struct AudioSettings {
  int64_t rate = 16000;  // samples a second
  int64_t mels = 128, fft = 400, hop = 160;
  int64_t least_samples = 8000;  // shorter recordings count as padded with silence to that
  int64_t multiple = 100;        // frames are padded to a multiple of this
};

}  // namespace thaw::media
