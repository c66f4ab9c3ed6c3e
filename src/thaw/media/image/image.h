// A picture in memory: 8-bit samples, [height, width, channels], the first row at the top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace thaw::media {

struct Image {
  int64_t width = 0, height = 0;
  int64_t channels = 3;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha
  std::vector<uint8_t> samples;

  size_t row_bytes() const { return static_cast<size_t>(width * channels); }
  const uint8_t* row(int64_t y) const { return samples.data() + static_cast<size_t>(y) * row_bytes(); }
  uint8_t* row(int64_t y) { return samples.data() + static_cast<size_t>(y) * row_bytes(); }
};

// What a header may ask for: Pillow's bound on decompression bombs. Throws thaw::Error (kInvalidFile) for a size that is
// none, kOutOfBudget for one beyond the bound or Limits::max_memory. Called before anything is decoded.
constexpr int64_t kMostPixels = 178'956'970;
void require_size(int64_t width, int64_t height, int64_t channels, const std::string& name);

// Zeros of that size.
Image blank(int64_t width, int64_t height, int64_t channels);

// RGB: gray three times; what is transparent over white, rounded as Pillow's alpha_composite does.
Image to_rgb(Image image);

// What Exif's Orientation (1 to 8) says of how the picture was held, undone; other numbers change nothing.
Image rotated_upright(Image image, int orientation);

}  // namespace thaw::media
