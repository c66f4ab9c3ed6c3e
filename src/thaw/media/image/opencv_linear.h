// Images resized as OpenCV's INTER_LINEAR does, bit for bit (4.14 and 5.0).
//
// An output sample is between the four samples around its center, (x + 0.5) input / output - 0.5, at any reduction: no
// antialiasing. Weights are held in 11 bits. A reduction to exactly half, both ways, is the mean of four samples instead.
#pragma once

#include <cstdint>

#include "thaw/media/image/image.h"

namespace thaw::media {

// The sizes have to be positive.
Image resize_as_opencv(const Image& image, int64_t width, int64_t height);

}  // namespace thaw::media
