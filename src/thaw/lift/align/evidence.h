// What a constant was in each trace, as text for a report: "[1, 22, 30]" for a few integers, "float32[660,1,16]" for a
// table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/ir/data/tensor.h"

namespace thaw::lifting {

std::vector<std::string> evidence(std::span<const ir::Tensor* const> tensors);

}  // namespace thaw::lifting
