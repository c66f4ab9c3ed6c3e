#include "thaw/generate/rope_positions.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::generating {
namespace {

[[noreturn]] void refuse_images(size_t found, size_t given) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the prompt has {} images, and {} are given", found, given),
               .where = "the prompt",
               .expected = "a placeholder for each image"});
}

}  // namespace

RopePositions rope_positions(const std::vector<int64_t>& ids, int64_t image_token,
                             const std::vector<TokenGrid>& grids) {
  RopePositions positions;
  const auto add = [&](int64_t time, int64_t row, int64_t column) {
    positions.axes[0].push_back(time);
    positions.axes[1].push_back(row);
    positions.axes[2].push_back(column);
  };
  size_t image = 0;
  for (size_t i = 0; i < ids.size();) {
    if (image_token < 0 || ids[i] != image_token) {
      add(positions.next, positions.next, positions.next);
      ++positions.next;
      ++i;
      continue;
    }
    if (image == grids.size()) refuse_images(image + 1, grids.size());
    const auto [height, width] = grids[image++];
    const int64_t count = height * width, first = positions.next;
    for (int64_t k = 0; k < count; ++k, ++i) {
      if (i == ids.size() || ids[i] != image_token) refuse_images(image, grids.size());
      add(first, first + k / width, first + k % width);
    }
    positions.next = first + std::max({height, width, int64_t{1}});
  }
  if (image != grids.size()) refuse_images(image, grids.size());
  return positions;
}

}  // namespace thaw::generating
