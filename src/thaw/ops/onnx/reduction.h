// Reductions over axes, as ai.onnx and com.microsoft have them: the attribute `axes` in the opsets that the registry
// lists it for, else operand 1 where its role is kAxes.
#pragma once

#include <vector>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

// nullopt where the axes are not known.
std::optional<AxesMap> reduction_axes(NodeView& view, Combine combine);
template <Combine kCombine>
std::optional<AxesMap> reduction_axes(NodeView& view) {
  return reduction_axes(view, kCombine);
}

// Operands other than the data and the axes must be the same for all samples.
void batch_reduce(BatchContext& n);
// Of what has its axes as an attribute, and reduces over these.
void batch_reduce_over(BatchContext& n, std::vector<int64_t> axes);

}  // namespace thaw::ops
