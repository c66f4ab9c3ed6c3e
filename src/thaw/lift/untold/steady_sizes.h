// Sizes that follow from the inputs' and are the same in every trace all the same: the smallest level of a pyramid.
//
// What was frozen of them does not differ between the traces, and would pass for a constant of the model. Internal to lift/.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "thaw/ir/graph/graph.h"
#include "thaw/lift/domain/domain.h"
#include "thaw/lift/solve/tensor_sizes.h"
#include "thaw/lift/unseen/contradictions.h"

namespace thaw::lifting {

struct SteadySize {
  const ir::Value* value = nullptr;  // of the first trace
  size_t axis = 0;
  dim::Dim size;
  int64_t at = 0;  // in every trace
  size_t rank = 0;
};

// Of what the nodes of the first trace give, in their order.
std::vector<SteadySize> find_steady_sizes(const std::vector<ir::Node*>& nodes, const TensorShapes& shapes,
                                          std::span<const Variable> variables);

// What a size is where variable i has value_of(i); nullopt where that cannot be told.
std::optional<int64_t> value_at(dim::Dim size, std::span<const Variable> variables,
                                const std::function<int64_t(size_t)>& value_of);

// What a size is in each trace; empty where that cannot be told.
std::vector<int64_t> in_traces(dim::Dim size, std::span<const Variable> variables);

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
