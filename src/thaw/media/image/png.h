// PNG files, by libpng.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thaw/media/image/decoded.h"

namespace thaw::media {

bool is_png(std::span<const uint8_t> bytes);

// Of every color type and interlacing: palettes looked up, 1 to 4 bits spread over 8, of 16 bits the upper 8, a
// transparent color as alpha. No color management: gamma and profiles are left aside, as Pillow leaves them. (Of 16-bit
// gray Pillow makes white where a sample is above 255; here it is gray.)
// Throws thaw::Error (kInvalidFile) for a file that is damaged or ends early, kOutOfBudget for a size beyond
// require_size(); `name` is for messages.
Decoded decode_png(std::span<const uint8_t> bytes, const std::string& name);

}  // namespace thaw::media
