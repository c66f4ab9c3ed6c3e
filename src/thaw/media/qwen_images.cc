#include "thaw/media/qwen_images.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::media {
namespace {

constexpr double kMostAspect = 200;

// As Python's round: half to even.
int64_t nearest_multiple(double size, int64_t factor) {
  return static_cast<int64_t>(std::nearbyint(size / static_cast<double>(factor))) * factor;
}

void require_aspect(double height, double width, const std::string& name) {
  if (std::max(height, width) / std::min(height, width) <= kMostAspect) return;
  throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the image is {} x {} pixels", width, height),
                                            .where = name,
                                            .expected = "a longer side of at most 200 times the shorter",
                                            .next = "crop it"});
}

// "616 and 644", or the smallest alone.
std::string multiples_around(int64_t side, int64_t factor) {
  const int64_t below = side / factor * factor;
  return below == 0 ? fmt::format("{}", factor) : fmt::format("{} and {}", below, below + factor);
}

}  // namespace

ImageSize smart_size(ImageSize size, const ImageSettings& settings, const std::string& name, int64_t frames,
                     bool counts_frames) {
  const int64_t factor = settings.factor();
  double height = static_cast<double>(size.height), width = static_cast<double>(size.width);
  double depth = 1, rounded_depth = 1;
  if (counts_frames) {
    if (frames < settings.temporal_patch)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("the clip has {} frame{}", frames, frames == 1 ? "" : "s"),
                   .where = name,
                   .expected = fmt::format("{} at least", settings.temporal_patch),
                   .next = "give a single picture as an image"});
    const double enlarged = std::max(static_cast<double>(factor) / height, static_cast<double>(factor) / width);
    if (enlarged > 1) {
      height = std::trunc(height * enlarged);
      width = std::trunc(width * enlarged);
    }
    depth = static_cast<double>(frames);
    rounded_depth = static_cast<double>(nearest_multiple(depth, settings.temporal_patch));
  }
  require_aspect(height, width, name);
  ImageSize fit = {.width = nearest_multiple(width, factor), .height = nearest_multiple(height, factor)};
  const double pixels = rounded_depth * static_cast<double>(fit.height) * static_cast<double>(fit.width);
  const double most = static_cast<double>(settings.max_pixels), least = static_cast<double>(settings.min_pixels);
  const double step = static_cast<double>(factor);
  if (pixels > most) {
    const double beta = std::sqrt(depth * height * width / most);
    const auto shrunk = [&](double side) {
      return std::max(factor, static_cast<int64_t>(std::floor(side / beta / step)) * factor);
    };
    fit = {.width = shrunk(width), .height = shrunk(height)};
  } else if (pixels < least) {
    const double beta = std::sqrt(least / (depth * height * width));
    const auto grown = [&](double side) { return static_cast<int64_t>(std::ceil(side * beta / step)) * factor; };
    fit = {.width = grown(width), .height = grown(height)};
  }
  return fit;
}

void require_multiple(ImageSize size, const ImageSettings& settings, const std::string& where) {
  const int64_t factor = settings.factor();
  for (const int64_t side : {size.width, size.height}) {
    if (side > 0 && side % factor == 0) continue;
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("{} pixels are not a whole number of tokens, which are {} x {} (patches of {}, {} x {} a "
                             "token)",
                             side, factor, factor, settings.patch, settings.merge, settings.merge),
         .where = where,
         .expected = fmt::format("a multiple of {}", factor),
         .next = fmt::format("the next are {}", multiples_around(std::max<int64_t>(side, 0), factor))});
  }
}

std::array<int64_t, 3> append_patches(const std::vector<Image>& frames, const ImageSettings& settings,
                                      FloatRows& rows) {
  const PixelTable table(settings);
  const int64_t patch = settings.patch, merge = settings.merge, depth = settings.temporal_patch;
  const int64_t count = static_cast<int64_t>(frames.size());
  const std::array<int64_t, 3> grid = {(count + depth - 1) / depth, frames.front().height / patch,
                                       frames.front().width / patch};
  float* to = rows.grow(static_cast<size_t>(grid[0] * grid[1] * grid[2] * 3 * depth * patch * patch));
  const auto write_patch = [&](int64_t group, int64_t row, int64_t column) {
    for (int c = 0; c < 3; ++c) {
      for (int64_t t = 0; t < depth; ++t) {
        const Image& frame = frames[static_cast<size_t>(std::min(group * depth + t, count - 1))];
        for (int64_t y = 0; y < patch; ++y) {
          const uint8_t* from = frame.row(row * patch + y) + column * patch * 3 + c;
          for (int64_t x = 0; x < patch; ++x) *to++ = table.at(c, from[x * 3]);
        }
      }
    }
  };
  for (int64_t group = 0; group < grid[0]; ++group)
    for (int64_t row = 0; row < grid[1]; row += merge)
      for (int64_t column = 0; column < grid[2]; column += merge)
        for (int64_t cell = 0; cell < merge * merge; ++cell)
          write_patch(group, row + cell / merge, column + cell % merge);
  return grid;
}

void append_image(const Image& image, const ImageSettings& settings, FloatRows& rows) {
  const PixelTable table(settings);
  float* to = rows.grow(static_cast<size_t>(3 * image.height * image.width));
  for (int c = 0; c < 3; ++c)
    for (int64_t y = 0; y < image.height; ++y)
      for (int64_t x = 0; x < image.width; ++x) *to++ = table.at(c, image.row(y)[x * 3 + c]);
}

}  // namespace thaw::media
