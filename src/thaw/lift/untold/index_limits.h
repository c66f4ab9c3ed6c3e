// How far the axes go that a lifted model reads by index. Internal to lift/.
//
// Positions that grow are read from a table that was as long in every trace: past its end ONNX Runtime ends with an error of its own.
// Inference knows the largest index, and what it must be below.
#pragma once

#include <span>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/graph/model.h"
#include "thaw/lift/domain/domain.h"

namespace thaw::lifting {

// Those that hold in every trace, and not at any larger size; in the scope's symbols. Sizes that are above 0 in every trace are.
std::vector<Limit> index_limits(const ir::Model& lifted, std::span<const Variable> variables, dim::Scope& scope);

}  // namespace thaw::lifting
