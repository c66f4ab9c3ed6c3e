#include "thaw/media/phi4_images.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/media/pixels.h"

namespace thaw::media {
namespace {

constexpr int64_t kLeastSide = 10;

// The grid of 1 to `most` crops whose columns to rows are nearest to width to height; of equally near ones the last by
// number of crops that the image more than half fills. Grids of one number of crops are met with more columns last.
std::pair<int64_t, int64_t> nearest_grid(int64_t width, int64_t height, int64_t most, int64_t crop) {
  const double aspect = static_cast<double>(width) / static_cast<double>(height);
  const double area = static_cast<double>(width) * static_cast<double>(height);
  std::pair<int64_t, int64_t> best = {1, 1};
  double least = std::numeric_limits<double>::infinity();
  for (int64_t crops = 1; crops <= most; ++crops) {
    for (int64_t columns = 1; columns <= crops; ++columns) {
      if (crops % columns != 0) continue;
      const int64_t rows = crops / columns;
      const double difference = std::abs(aspect - static_cast<double>(columns) / static_cast<double>(rows));
      const bool fills = area > 0.5 * static_cast<double>(crop * crop * crops);
      if (difference < least || (difference == least && fills)) best = {columns, rows};
      least = std::min(least, difference);
    }
  }
  return best;
}

}  // namespace

CropGrid crop_grid(int64_t width, int64_t height, const ImageSettings& settings, const std::string& name) {
  const int64_t crop = settings.crop;
  CropGrid grid{.columns = (width + crop - 1) / crop, .rows = (height + crop - 1) / crop};
  if (grid.columns * grid.rows > settings.most_crops)
    std::tie(grid.columns, grid.rows) = nearest_grid(width, height, settings.most_crops, crop);
  const double across = static_cast<double>(grid.columns * crop) / static_cast<double>(width);
  const double down = static_cast<double>(grid.rows * crop) / static_cast<double>(height);
  grid.width = across < down ? grid.columns * crop : static_cast<int64_t>(static_cast<double>(width) * down);
  grid.height = across < down ? static_cast<int64_t>(static_cast<double>(height) * across) : grid.rows * crop;
  if (std::min(grid.width, grid.height) < kLeastSide)
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the image is {} x {} pixels", width, height),
                                              .where = name,
                                              .expected = "proportions that leave 10 pixels each way in a crop",
                                              .next = "crop it"});
  return grid;
}

Crops cut_crops(const Image& image, const ImageSettings& settings, Arithmetic arithmetic, const std::string& name) {
  const CropGrid grid = crop_grid(image.width, image.height, settings, name);
  const int64_t crop = settings.crop, side = crop / settings.patch;
  const int64_t width = grid.columns * crop, height = grid.rows * crop;
  // The family's processor names no filter here, which is bilinear; the configured one is for the view of the whole.
  const Image inside = resize(image, grid.width, grid.height, Filter::kBilinear, arithmetic);

  // [3, height, width] of the bordered image.
  const PixelTable table(settings);
  std::vector<std::vector<float>> planes;
  for (int c = 0; c < 3; ++c) {
    std::vector<float>& plane = planes.emplace_back(static_cast<size_t>(width * height), table.at(c, 255));
    for (int64_t y = 0; y < inside.height; ++y)
      for (int64_t x = 0; x < inside.width; ++x)
        plane[static_cast<size_t>(y * width + x)] = table.at(c, inside.row(y)[x * 3 + c]);
  }

  Crops crops{.columns = grid.columns, .rows = grid.rows, .samples = {}, .mask = {}};
  const int64_t count = 1 + grid.rows * grid.columns;
  crops.samples.reserve(static_cast<size_t>(count * 3 * crop * crop));
  for (const std::vector<float>& plane : planes) {
    const std::vector<float> whole = resize_plane(plane, width, height, crop, crop);
    crops.samples.insert(crops.samples.end(), whole.begin(), whole.end());
  }
  for (int64_t k = 0; k < grid.rows * grid.columns; ++k) {
    const int64_t top = k / grid.columns * crop, left = k % grid.columns * crop;
    for (const std::vector<float>& plane : planes)
      for (int64_t y = top; y < top + crop; ++y)
        crops.samples.insert(crops.samples.end(), plane.begin() + y * width + left,
                             plane.begin() + y * width + left + crop);
  }

  // Rows and columns of patches that show image; a patch that is cut by the border counts.
  const int64_t shown_rows = grid.rows * side - (height - grid.height) / settings.patch;
  const int64_t shown_columns = grid.columns * side - (width - grid.width) / settings.patch;
  crops.mask.assign(static_cast<size_t>(side * side), 1);
  for (int64_t k = 0; k < grid.rows * grid.columns; ++k) {
    const int64_t top = k / grid.columns * side, left = k % grid.columns * side;
    for (int64_t y = top; y < top + side; ++y)
      for (int64_t x = left; x < left + side; ++x)
        crops.mask.push_back(static_cast<uint8_t>(y < shown_rows && x < shown_columns));
  }
  // Two by two patches become a token, which is there where its first patch is.
  const int64_t half = (side + 1) / 2;
  const auto cells = [&](int64_t shown, int64_t many) {
    int64_t sum = 0;
    for (int64_t k = 0; k < many; ++k) sum += std::clamp<int64_t>((shown - k * side + 1) / 2, 0, half);
    return sum;
  };
  const int64_t cell_rows = cells(shown_rows, grid.rows);
  constexpr int64_t kOfWhole = 256 + 16, kBetween = 1;
  crops.tokens = kOfWhole + kBetween + cell_rows * cells(shown_columns, grid.columns) + cell_rows;
  return crops;
}

Arrays crops_as_arrays(std::vector<Crops> images, const ImageSettings& settings) {
  const int64_t crop = settings.crop, side = crop / settings.patch;
  const int64_t count = static_cast<int64_t>(images.size());
  int64_t most = 0;
  for (const Crops& image : images) most = std::max(most, 1 + image.rows * image.columns);
  Array pixels = Array::zeros(DataType::kFloat, {count, most, 3, crop, crop});
  Array mask = Array::zeros(DataType::kBool, {count, most, side, side});
  std::ranges::fill(mask.bytes, std::byte{1});
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < images.size(); ++i) {
    Crops& image = images[i];
    std::memcpy(pixels.bytes.data() + i * (pixels.bytes.size() / images.size()), image.samples.data(),
                image.samples.size() * sizeof(float));
    std::memcpy(mask.bytes.data() + i * (mask.bytes.size() / images.size()), image.mask.data(), image.mask.size());
    sizes.insert(sizes.end(), {image.rows * crop, image.columns * crop});
    image.samples = {};
  }
  Arrays arrays;
  arrays.emplace("pixel_values", std::move(pixels));
  arrays.emplace("image_attention_mask", std::move(mask));
  arrays.emplace("image_sizes", Array::from_int64(DataType::kInt64, {count, 2}, sizes));
  return arrays;
}

}  // namespace thaw::media
