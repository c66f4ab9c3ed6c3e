// A learned grid that no trace shows whole: each has it resized to its own size, smaller along one side or both.
//
// A resized grid is a linear map of the learned one. What one trace leaves open others tell: the equations of all of them together,
// each place once, are more than the unknowns, and hold only for the grid that was learned.
#pragma once

#include <span>

#include "thaw/lift/table/kept/learned_grid.h"

namespace thaw::lifting {

struct JointGrid {
  LearnedGrid grid = {};  // of no height where none gives the traces
  bool is_told = false;   // false: the traces hold for a grid of that size, and leave entries open
};

// resized: the grid as each trace has it. The smallest square, or grid of a height and a width that traces have, of which all are
// resized versions; a list where their height is 1. scale: the largest entry. It is not told where the equations leave it open,
// or rounding to float32 would be magnified too much. `work` is what may be spent, in multiplications.
JointGrid recover_together(std::span<const LearnedGrid> resized, const Resizing& method, double scale, int64_t& work);

}  // namespace thaw::lifting
