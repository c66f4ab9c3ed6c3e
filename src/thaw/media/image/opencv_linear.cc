#include "thaw/media/image/opencv_linear.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace thaw::media {
namespace {

constexpr float kOne = 2048;  // a weight of 1, in 11 bits

// The two samples along an axis that an output sample is between, and their weights.
struct Pair {
  int64_t first, second;
  int32_t near, far;
};

std::vector<Pair> pairs_of(int64_t size, int64_t new_size) {
  // The factor is inverted twice, and positions are floats, as there.
  const double scale = 1.0 / (static_cast<double>(new_size) / static_cast<double>(size));
  const auto fixed = [](float weight) { return static_cast<int32_t>(std::nearbyint(weight * kOne)); };
  std::vector<Pair> pairs;
  pairs.reserve(static_cast<size_t>(new_size));
  for (int64_t i = 0; i < new_size; ++i) {
    const auto center = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto at = static_cast<int64_t>(std::floor(center));
    const float part = center - static_cast<float>(at);
    pairs.push_back({.first = std::clamp<int64_t>(at, 0, size - 1),
                     .second = std::clamp<int64_t>(at + 1, 0, size - 1),
                     .near = fixed(1 - part),
                     .far = fixed(part)});
  }
  return pairs;
}

// A row resampled, in 19 bits.
void resample_row(const Image& image, int64_t y, const std::vector<Pair>& across, std::vector<int32_t>& to) {
  const int64_t channels = image.channels;
  const uint8_t* row = image.row(y);
  size_t at = 0;
  for (const Pair& pair : across)
    for (int64_t c = 0; c < channels; ++c)
      to[at++] = row[pair.first * channels + c] * pair.near + row[pair.second * channels + c] * pair.far;
}

Image halved(const Image& image) {
  Image result = blank(image.width / 2, image.height / 2, image.channels);
  const int64_t channels = image.channels;
  for (int64_t y = 0; y < result.height; ++y) {
    const uint8_t *upper = image.row(2 * y), *lower = image.row(2 * y + 1);
    uint8_t* to = result.row(y);
    for (int64_t x = 0; x < result.width; ++x)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t left = 2 * x * channels + c, right = left + channels;
        *to++ = static_cast<uint8_t>((upper[left] + upper[right] + lower[left] + lower[right] + 2) >> 2);
      }
  }
  return result;
}

}  // namespace

Image resize_as_opencv(const Image& image, int64_t width, int64_t height) {
  if (width == image.width && height == image.height) return image;
  if (width * 2 == image.width && height * 2 == image.height) return halved(image);
  const std::vector<Pair> across = pairs_of(image.width, width), down = pairs_of(image.height, height);
  Image result = blank(width, height, image.channels);
  std::vector<int32_t> upper(result.row_bytes()), lower(result.row_bytes());
  for (int64_t y = 0; y < height; ++y) {
    const Pair& pair = down[static_cast<size_t>(y)];
    resample_row(image, pair.first, across, upper);
    resample_row(image, pair.second, across, lower);
    uint8_t* to = result.row(y);
    // Each product is cut to 10 bits before the sum: what SIMD multiplies high words for.
    for (size_t i = 0; i < upper.size(); ++i) {
      const int32_t sum = ((pair.near * (upper[i] >> 4)) >> 16) + ((pair.far * (lower[i] >> 4)) >> 16);
      to[i] = static_cast<uint8_t>(std::clamp((sum + 2) >> 2, 0, 255));
    }
  }
  return result;
}

}  // namespace thaw::media
