#include "thaw/media/image/resample.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/math/interpolation.h"
#include "thaw/media/image/opencv_linear.h"

namespace thaw::media {
namespace {

const math::Kernel& kernel_of(Filter filter) {
  switch (filter) {
    case Filter::kBox:
      return math::kBox;
    case Filter::kBicubic:
      return math::kCubic;
    case Filter::kLanczos:
      return math::kLanczos;
    default:
      return math::kLinear;
  }
}

// For each output sample along one axis, the input samples that count and their weights in fixed point.
struct Taps {
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;  // [outputs, most]
  int64_t most = 0;
  int bits = 0;  // behind the point

  const int32_t* of(int64_t output) const { return weights.data() + output * most; }
};

int bits_of_torch(double largest) {
  constexpr int kMostBits = 22;
  for (int bits = 0; bits < kMostBits; ++bits)
    if (0.5 + largest * static_cast<double>(int64_t{1} << (bits + 1)) >= 1 << 15) return bits;
  return kMostBits;
}

Taps taps_of(int64_t size, int64_t new_size, Filter filter, Arithmetic arithmetic) {
  const double scale = static_cast<double>(size) / static_cast<double>(new_size), widened = std::max(scale, 1.0);
  const math::Kernel& kernel = kernel_of(filter);
  Taps taps;
  taps.most = static_cast<int64_t>(std::ceil(kernel.radius * widened)) * 2 + 1;
  std::vector<double> weights(static_cast<size_t>(new_size * taps.most));
  double largest = 0;
  for (int64_t i = 0; i < new_size; ++i) {
    const auto row = math::taps_around((static_cast<double>(i) + 0.5) * scale, widened, size, kernel);
    taps.first.push_back(row.empty() ? 0 : row.front().at);
    taps.count.push_back(static_cast<int64_t>(row.size()));
    double* to = weights.data() + i * taps.most;
    for (const math::Tap& tap : row) largest = std::max(largest, *to++ = tap.weight);
  }
  constexpr int kPillowBits = 32 - 8 - 2;
  taps.bits = arithmetic == Arithmetic::kPillow ? kPillowBits : bits_of_torch(largest);
  taps.weights.reserve(weights.size());
  for (const double weight : weights) {
    const double fixed = weight * static_cast<double>(int64_t{1} << taps.bits);
    taps.weights.push_back(static_cast<int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
  }
  return taps;
}

uint8_t rounded(int32_t sum, int bits) { return static_cast<uint8_t>(std::clamp(sum >> bits, 0, 255)); }

Image resize_rows(const Image& image, const Taps& taps) {
  const int64_t channels = image.channels;
  Image result = blank(static_cast<int64_t>(taps.first.size()), image.height, channels);
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* to = result.row(y);
    for (int64_t x = 0; x < result.width; ++x, to += channels) {
      const uint8_t* from = image.row(y) + taps.first[static_cast<size_t>(x)] * channels;
      const int32_t* weights = taps.of(x);
      std::array<int32_t, 4> sums;
      sums.fill(1 << (taps.bits - 1));
      for (int64_t k = 0; k < taps.count[static_cast<size_t>(x)]; ++k, from += channels)
        for (int64_t c = 0; c < channels; ++c) sums[static_cast<size_t>(c)] += from[c] * weights[k];
      for (int64_t c = 0; c < channels; ++c) to[c] = rounded(sums[static_cast<size_t>(c)], taps.bits);
    }
  }
  return result;
}

Image resize_columns(const Image& image, const Taps& taps) {
  Image result = blank(image.width, static_cast<int64_t>(taps.first.size()), image.channels);
  std::vector<int32_t> sums(image.row_bytes());
  for (int64_t y = 0; y < result.height; ++y) {
    std::ranges::fill(sums, 1 << (taps.bits - 1));
    for (int64_t k = 0; k < taps.count[static_cast<size_t>(y)]; ++k) {
      const uint8_t* from = image.row(taps.first[static_cast<size_t>(y)] + k);
      const int32_t weight = taps.of(y)[k];
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += from[i] * weight;
    }
    uint8_t* to = result.row(y);
    for (size_t i = 0; i < sums.size(); ++i) to[i] = rounded(sums[i], taps.bits);
  }
  return result;
}

Image take_nearest(const Image& image, int64_t width, int64_t height) {
  Image result = blank(width, height, image.channels);
  const auto position = [](int64_t i, int64_t size, int64_t new_size) {
    const double center = (static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(new_size);
    return std::min(static_cast<int64_t>(center), size - 1);
  };
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* row = image.row(position(y, image.height, height));
    uint8_t* to = result.row(y);
    for (int64_t x = 0; x < width; ++x, to += image.channels)
      std::copy_n(row + position(x, image.width, width) * image.channels, image.channels, to);
  }
  return result;
}

struct CubicTaps {
  std::array<int64_t, 4> at;
  std::array<float, 4> weights;
};

CubicTaps cubic_taps(int64_t output, int64_t size, int64_t new_size) {
  constexpr float kA = -0.75F;
  const float scale = static_cast<float>(size) / static_cast<float>(new_size);
  const float center = scale * (static_cast<float>(output) + 0.5F) - 0.5F;
  const float left = std::floor(center);
  CubicTaps taps;
  for (int64_t k = 0; k < 4; ++k) {
    taps.at[static_cast<size_t>(k)] = std::clamp<int64_t>(static_cast<int64_t>(left) - 1 + k, 0, size - 1);
    taps.weights[static_cast<size_t>(k)] = math::cubic_weight(static_cast<float>(k - 1) - (center - left), kA);
  }
  return taps;
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height, Filter filter, Arithmetic arithmetic) {
  if (width <= 0 || height <= 0)
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("an image cannot be resized to {} x {}", width, height), .expected = "a positive size"});
  if (arithmetic == Arithmetic::kOpenCv) {
    if (filter != Filter::kBilinear)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "OpenCV's arithmetic is of INTER_LINEAR alone", .expected = "the bilinear filter"});
    return resize_as_opencv(image, width, height);
  }
  if (filter == Filter::kNearest) return take_nearest(image, width, height);
  const auto along_rows = [&](const Image& from) {
    return width == from.width ? from : resize_rows(from, taps_of(from.width, width, filter, arithmetic));
  };
  const auto along_columns = [&](const Image& from) {
    return height == from.height ? from : resize_columns(from, taps_of(from.height, height, filter, arithmetic));
  };
  const bool loses_rows = height < image.height && image.height - height > 2 * (image.width - width);
  if (arithmetic == Arithmetic::kPillow && loses_rows) return along_rows(along_columns(image));
  return along_columns(along_rows(image));
}

std::vector<float> resize_plane(const std::vector<float>& plane, int64_t width, int64_t height, int64_t new_width,
                                int64_t new_height) {
  std::vector<CubicTaps> across;
  for (int64_t x = 0; x < new_width; ++x) across.push_back(cubic_taps(x, width, new_width));
  std::vector<float> result;
  result.reserve(static_cast<size_t>(new_width * new_height));
  for (int64_t y = 0; y < new_height; ++y) {
    const CubicTaps down = cubic_taps(y, height, new_height);
    for (const CubicTaps& taps : across) {
      float sum = 0;
      for (size_t k = 0; k < 4; ++k) {
        const float* row = plane.data() + down.at[k] * width;
        float row_sum = 0;
        for (size_t i = 0; i < 4; ++i) row_sum += row[taps.at[i]] * taps.weights[i];
        sum += row_sum * down.weights[k];
      }
      result.push_back(sum);
    }
  }
  return result;
}

}  // namespace thaw::media
