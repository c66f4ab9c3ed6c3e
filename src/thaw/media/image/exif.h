// Exif's Orientation: how a camera was held.
#pragma once

#include <cstdint>
#include <span>

namespace thaw::media {

// The number (1 to 8) in the first directory of a TIFF block, as Exif data are (CIPA DC-008, 4.6): of a JPEG file what
// follows "Exif\0\0", of a PNG file the chunk eXIf. 1, upright, where it is not said or the block is damaged.
int exif_orientation(std::span<const uint8_t> tiff);

}  // namespace thaw::media
