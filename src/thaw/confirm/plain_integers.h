// Integers to feed where a model does not run with those that would be drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"

namespace thaw::confirm {

// `feeds`, and every integer that would be drawn is `number`; nullopt where none would be.
std::optional<FeedOptions> with_all_integers(const ir::Model& model, const FeedOptions& feeds, int number);

struct Grid {
  int64_t height = 0, width = 0;
};

// Grids that a tower may take: small ones, and those of as many places as a size that the model was made for, the
// nearest to a square that windows of two divide.
struct Grids {
  std::vector<Grid> small, own;
};
Grids likely_grids(const ir::Model& model);

// `feeds`, and each input of rows of integers that may be the grid of an image, [rows, 2] or [rows, 3], is one row: the
// grid, with a count of 1 before it. nullopt where there is none.
std::optional<FeedOptions> with_grid(const ir::Model& model, const FeedOptions& feeds, const Grid& grid);

}  // namespace thaw::confirm
