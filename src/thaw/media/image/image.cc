#include "thaw/media/image/image.h"

#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/limits.h"

namespace thaw::media {
namespace {

// Of one sample over white, in Pillow's fixed point: weights of 15 bits, divided by 255 with rounding.
uint8_t over_white(uint32_t sample, uint32_t alpha) {
  constexpr uint32_t kBits = 7;
  const uint32_t sum = sample * (alpha << kBits) + 255 * ((255 - alpha) << kBits) + (0x80u << kBits);
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> kBits);
}

}  // namespace

void require_size(int64_t width, int64_t height, int64_t channels, const std::string& name) {
  if (width <= 0 || height <= 0)
    throw Error(ErrorCode::kInvalidFile,
                {.what = fmt::format("the image has no pixels ({} x {})", width, height), .where = name});
  const bool too_many = width > kMostPixels || height > kMostPixels || width * height > kMostPixels;
  if (too_many)
    throw Error(ErrorCode::kOutOfBudget, {.what = fmt::format("an image of {} x {} pixels", width, height),
                                          .where = name,
                                          .expected = fmt::format("{} pixels at most", kMostPixels),
                                          .next = "make it smaller"});
  // Decoded, converted and resized, it stands in memory three times.
  const uint64_t memory = static_cast<uint64_t>(width * height * channels) * 3;
  const uint64_t most = limits().max_memory;
  if (most != 0 && memory > most)
    throw Error(ErrorCode::kOutOfBudget,
                {.what = fmt::format("an image of {} x {} pixels takes {} bytes", width, height, memory),
                 .where = name,
                 .expected = fmt::format("{} at most, as --max-memory says", most)});
}

Image blank(int64_t width, int64_t height, int64_t channels) {
  Image image{.width = width, .height = height, .channels = channels, .samples = {}};
  image.samples.resize(static_cast<size_t>(width * height * channels));
  return image;
}

Image to_rgb(Image image) {
  if (image.channels == 3) return image;
  Image rgb = blank(image.width, image.height, 3);
  const bool is_gray = image.channels < 3, has_alpha = image.channels % 2 == 0;
  const uint8_t* from = image.samples.data();
  uint8_t* to = rgb.samples.data();
  for (int64_t i = 0; i < image.width * image.height; ++i, from += image.channels, to += 3) {
    const uint32_t alpha = has_alpha ? from[image.channels - 1] : 255;
    for (int c = 0; c < 3; ++c) {
      const uint8_t sample = from[is_gray ? 0 : c];
      to[c] = has_alpha ? over_white(sample, alpha) : sample;
    }
  }
  return rgb;
}

Image rotated_upright(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool is_transposed = orientation >= 5;
  const bool flips_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flips_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image upright = is_transposed ? blank(image.height, image.width, image.channels)
                                : blank(image.width, image.height, image.channels);
  for (int64_t y = 0; y < upright.height; ++y) {
    uint8_t* to = upright.row(y);
    for (int64_t x = 0; x < upright.width; ++x, to += image.channels) {
      int64_t from_x = is_transposed ? y : x, from_y = is_transposed ? x : y;
      if (flips_x) from_x = image.width - 1 - from_x;
      if (flips_y) from_y = image.height - 1 - from_y;
      const uint8_t* from = image.row(from_y) + from_x * image.channels;
      for (int64_t c = 0; c < image.channels; ++c) to[c] = from[c];
    }
  }
  return upright;
}

}  // namespace thaw::media
