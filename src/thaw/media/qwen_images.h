// Images and clips for the towers of Qwen2-VL, Qwen2.5-VL and Qwen3-VL: resized to whole tokens, cut into patches.
//
// A patch is `patch` pixels square and `temporal_patch` frames deep; merge x merge patches become one token. Patches
// stand in the order of tokens: [frame group, token row, token column, row in token, column in token], each as
// [3, temporal_patch, patch, patch]. An image is a clip whose frames are all the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "thaw/inputs.h"
#include "thaw/media/image/image.h"
#include "thaw/media/pixels.h"
#include "thaw/media/preset.h"

namespace thaw::media {

// The multiple of factor() nearest to each side, then scaled so that the pixels are min_pixels to max_pixels (the
// "smart_resize" of Qwen's processors). With `counts_frames`, Qwen3-VL's rule for clips: the bounds are those of all
// frames together. Throws thaw::Error (kInvalidArgument) where one side is more than 200 times the other, and where a
// clip that counts frames has less than temporal_patch of them; `name` is for messages.
ImageSize smart_size(ImageSize size, const ImageSettings& settings, const std::string& name, int64_t frames = 1,
                     bool counts_frames = false);

// Throws thaw::Error (kInvalidArgument) naming the valid sizes next to it where a side is no multiple of factor().
void require_multiple(ImageSize size, const ImageSettings& settings, const std::string& where);

// Frames of one size, whose sides are multiples of factor(); the last is repeated until temporal_patch divides their
// number. Appends [patches, 3 * temporal_patch * patch * patch]; returns the grid: frame groups, rows and columns of
// patches.
std::array<int64_t, 3> append_patches(const std::vector<Image>& frames, const ImageSettings& settings, FloatRows& rows);

// Appends [3, height, width]: what a tower that makes its patches itself takes.
void append_image(const Image& image, const ImageSettings& settings, FloatRows& rows);

}  // namespace thaw::media
