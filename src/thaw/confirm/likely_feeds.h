// Integers to feed where a model does not run with those that would be drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run.h"

namespace thaw::confirm {

// What may be fed in place of `feeds`, likeliest first, each group to be tried together: ones or zeros wherever an integer would
// be drawn, as a trace takes a mask of ones alone and an index no more than its table has; then, where an input may be the grid
// of an image (rows of two sides, or of a count and two sides), small grids, and those of as many patches as a size that the model
// was made for, the nearest to a square that windows of two divide.
std::vector<std::vector<FeedOptions>> likely_feeds(const ir::Model& model, const FeedOptions& feeds);

// Where an input has the form of a grid and its numbers are read as sizes: two small grids, to be tried before anything is
// drawn. Numbers that are drawn fill as many patches by accident only, and seldom two different counts. Empty where no input is.
std::vector<FeedOptions> grid_feeds(const ir::Model& model, const FeedOptions& feeds);

}  // namespace thaw::confirm
