// Integers that are the same in every trace, and may be sizes all the same. Internal to lift/.
//
// As long as nothing contradicts it, such an integer is a constant. Where nodes do not agree at sizes that no trace has, one before them
// may be a size that all traces have alike by chance: what a Pad adds, where all leave as much of the last window.
#pragma once

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/lift/align/steady_pads.h"
#include "thaw/lift/solve/solve.h"
#include "thaw/lift/solve/tensor_sizes.h"
#include "thaw/lift/unknowns/conditions.h"

namespace thaw::lifting {

// Those in the operands that make sizes of `contradicted` and of nodes before it, the nearest first, as many as can be looked at. What reads
// the same numbers at the same place, and data of the same sizes, is one. shapes: of tensors, as far as inference knows
// them.
std::vector<Unknown> steady_integers(const ir::Node& contradicted, const Alignment& alignment,
                                     const TensorShapes& shapes, const WindowsOfPads& windows,
                                     std::span<const Variable> variables);

// Notes in the alignment what was taken for such integers.
void note_taken(Alignment& alignment, const std::map<IntegerPlace, ChoiceAtPlace>& choices, dim::Scope& scope);

}  // namespace thaw::lifting
