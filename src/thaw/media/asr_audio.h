// Recordings for Qwen3-ASR's encoder.
#pragma once

#include <filesystem>
#include <span>

#include "thaw/inputs.h"
#include "thaw/media/preset.h"

namespace thaw::media {

// input_features float32 [batch, mels, frames] and input_features_mask int64 [batch, frames], as Qwen3-ASR's processor
// makes them: recordings are padded with silence to the longest (and to half a second), and their features with zeros to
// whole chunks of 100 frames. Throws thaw::Error as read_recording() does.
PreparedInputs asr_inputs(std::span<const std::filesystem::path> files, const AudioSettings& settings);

}  // namespace thaw::media
