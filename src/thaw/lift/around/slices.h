// Where a Slice cuts, by what its result meets. Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/around/traced_shapes.h"

namespace thaw::lifting {

// What the place of a Slice's bound says of it, the first that does of these; empty where none does, or two are as good.
//
//   back        down to what its result is added to or joined with (beside_cut.h)
//   rolled      where a tensor is rolled, or ends: so far before the end of its own axis as in every trace, whatever else measures as much
//   the middle  of an axis, as long as what its result is added to or joined with (Ronneberger et al. 2015, "U-Net")
//
// axes: of the data.
ops::Shape bound_told(const TracedShapes& shapes, const Difference& bound, std::span<const Variable> axes);

// Slices from the middle that begin at the same place in every trace, and elsewhere where half of what is cut away ends.
std::vector<Undecided> steady_middles(const TracedShapes& shapes);

}  // namespace thaw::lifting
