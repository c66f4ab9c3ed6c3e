// Holding sizes that no trace varies at what they are in all of them (solve/steady_sizes.h). Internal to lift/.
#pragma once

#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/domain/domain.h"
#include "thaw/lift/solve/steady_sizes.h"

namespace thaw::lifting {

// Parts of the length of a table that are the same number in every trace, and another at one of the unseen sizes: a grid of as many
// columns in each. Nothing tells them from the number in what the table was fitted by.
std::vector<Undecided> steady_parts(dim::Dim length, std::span<const Variable> variables,
                                    const std::vector<std::vector<int64_t>>& unseen);

// Adds that such sizes are what they are in the traces, where the model contradicts itself at sizes of the domain at which they are not:
// what was frozen of them stands in other tensors, too. The first of these; nullopt where it nowhere does.
std::optional<std::vector<int64_t>> hold_steady(Domain& domain, std::span<const SteadySize> steady,
                                                const ir::Model& lifted, std::span<const Variable> variables,
                                                const std::unordered_set<const ir::Node*>& traced);

}  // namespace thaw::lifting
