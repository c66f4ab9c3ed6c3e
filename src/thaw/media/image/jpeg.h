// JPEG files, by libjpeg-turbo.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thaw/media/image/decoded.h"

namespace thaw::media {

bool is_jpeg(std::span<const uint8_t> bytes);

// Gray or RGB, baseline or progressive, with libjpeg's own choices (slow integer DCT, smooth chroma), which are Pillow's.
// CMYK and YCCK become RGB as Pillow has it: stored inverted, (255 - K) * (255 - C) / 255.
// Throws thaw::Error (kInvalidFile) for a file that is damaged or ends early, kUnsupported for one of more than 8 bits a
// sample, kOutOfBudget for a size beyond require_size() and for more scans than a picture has; `name` is for messages.
Decoded decode_jpeg(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace thaw::media
