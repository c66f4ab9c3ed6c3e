// Clips in the prompts of Qwen3-VL: frames stand apart in groups, each group behind its time.
//
// "<|vision_start|><|video_pad|><|vision_end|>" with 4 frames, 2 a second, is
// "<|vision_start|><0.2 seconds><|vision_start|><|video_pad|><|vision_end|><1.2 seconds><|vision_start|><|video_pad|>
// <|vision_end|><|vision_end|>", as transformers' processor writes it (5.23; 4.57 left the outer pair out).
#pragma once

#include <string>

#include "thaw/inputs.h"
#include "thaw/media/preset.h"

namespace thaw::media {

// Whether the family's prompts have the times of frames in them.
bool has_times(const Preset& preset);

// Of a clip's frames, so many as make a patch are one group. 0 of none.
int64_t frame_groups(int64_t frames, const Preset& preset);

// The prompt with each clip's placeholder replaced by groups and times, a placeholder for each group; the same text where the
// family has none, or no clip is given. The time of a group is the mean of its first and its last frame's, in seconds. Throws
// thaw::Error (kInvalidArgument) where the frame rate is not given, and where the text has another number of placeholders.
std::string with_times(const std::string& text, const Preset& preset, const InputsOptions& options);

}  // namespace thaw::media
