// How many elements one axis of a Slice takes.
#pragma once

#include "thaw/dim/expr/dim.h"

namespace thaw::ops {

// The size of axis size `n` sliced by [start : end : step] after ONNX's rules: negative positions count from the end,
// both are clamped to the axis. Any of them may be an expression, of either sign; unknown where no exact expression is
// had.
dim::Dim slice_size(dim::Dim n, dim::Dim start, dim::Dim end, dim::Dim step);

}  // namespace thaw::ops
