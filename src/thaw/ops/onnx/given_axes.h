// Axes that an operator is given as an attribute (older opsets) or as an operand.
#pragma once

#include <optional>
#include <vector>

#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {

// The attribute `axes`, or operand i; nullopt where none are given, or they are not known.
std::optional<std::vector<int64_t>> given_axes(NodeView& view, int operand);
// The same for a batch rule. Throws CannotBatch where they are given and not known.
std::optional<std::vector<int64_t>> axes_given(BatchContext& n, int operand);
// Axes known only at run time: counted with the batch before them then. False where they are known.
bool keep_on_computed_axes(BatchContext& n, int operand);

}  // namespace thaw::ops
