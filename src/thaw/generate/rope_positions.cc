#include "thaw/generate/rope_positions.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::generating {
namespace {

[[noreturn]] void refuse_images(size_t found, size_t given) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("the prompt has {} images or clips, and {} are given", found, given),
               .where = "the prompt",
               .expected = "a placeholder for each"});
}

}  // namespace

RopePositions rope_positions(const std::vector<int64_t>& ids, const std::vector<Pictures>& kinds) {
  RopePositions positions;
  int64_t here = 0;  // of the next word
  const auto add = [&](int64_t time, int64_t row, int64_t column) {
    positions.axes[0].push_back(time);
    positions.axes[1].push_back(row);
    positions.axes[2].push_back(column);
    positions.next = std::max({positions.next, time + 1, row + 1, column + 1});
  };
  std::vector<size_t> taken(kinds.size());
  for (size_t i = 0; i < ids.size();) {
    const auto kind = std::ranges::find_if(
        kinds, [&](const Pictures& pictures) { return pictures.token >= 0 && pictures.token == ids[i]; });
    if (kind == kinds.end()) {
      add(here, here, here);
      ++here;
      ++i;
      continue;
    }
    size_t& picture = taken[static_cast<size_t>(kind - kinds.begin())];
    if (picture == kind->grids.size()) refuse_images(picture + 1, kind->grids.size());
    const TokenGrid& grid = kind->grids[picture++];
    for (int64_t group = 0; group < grid.groups; ++group) {
      const int64_t time = here + static_cast<int64_t>(static_cast<float>(group) * grid.step);
      for (int64_t k = 0; k < grid.height * grid.width; ++k, ++i) {
        if (i == ids.size() || ids[i] != kind->token) refuse_images(picture, kind->grids.size());
        add(time, here + k / grid.width, here + k % grid.width);
      }
    }
    here += std::max({grid.height, grid.width, int64_t{1}});
    positions.next = std::max(positions.next, here);
  }
  for (size_t kind = 0; kind < kinds.size(); ++kind)
    if (taken[kind] != kinds[kind].grids.size()) refuse_images(taken[kind], kinds[kind].grids.size());
  return positions;
}

}  // namespace thaw::generating
