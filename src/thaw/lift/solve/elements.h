// Sizes of a shape that holds as many elements as what it is given to.
#pragma once

#include <span>
#include <vector>

#include "thaw/lift/align/traces.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::lifting {

// sizes: of a Reshape's target as they were solved, one by one; unknown where nothing gave it. elements: how many its data
// holds. Where the sizes do not come to that, one of them was solved by chance, or never differed between the traces, and
// is what the others leave; the last that varies first. Does nothing where one of them is left to be inferred (0, -1).
void keep_elements(ops::Shape& sizes, dim::Dim elements);

// The same of axes that are cut into others, or joined: where some sizes of the target hold as much as some axes of the data in every
// trace, they hold as much everywhere. data: its axes; made: those of the result, by axis in each trace. Only where one size
// alone can be what the others leave.
void keep_axes(ops::Shape& sizes, std::span<const Variable> data, std::span<const std::vector<int64_t>> made);

// The same of a shape that gives back what a Reshape before it took: windows of rows that were joined. Where a trace has
// one window along an axis, only what stood there before tells which of the axes that is.
void keep_given_back(ops::Shape& sizes, const ops::Shape& given_back);

}  // namespace thaw::lifting
