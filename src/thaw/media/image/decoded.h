// What a decoder returns: the samples as they stand in the file, and what the file says of them.
#pragma once

#include "thaw/media/image/image.h"

namespace thaw::media {

struct Decoded {
  Image image;
  int orientation = 1;  // Exif's
};

}  // namespace thaw::media
