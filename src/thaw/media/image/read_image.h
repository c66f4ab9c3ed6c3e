// Pictures from files.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "thaw/media/image/image.h"

namespace thaw::media {

// RGB of a JPEG or PNG file, known by its first bytes. With `upright`, a picture that says how the camera was held is
// turned, as transformers does with the paths of images it is given (and does not with images that were opened before).
// Throws thaw::Error (kCannotRead, kInvalidFile, kUnsupported, kOutOfBudget).
Image read_image(const std::filesystem::path& path, bool upright = true);

// The same of a file in memory.
Image decode_image(std::span<const uint8_t> bytes, const std::string& name, bool upright = true);

}  // namespace thaw::media
