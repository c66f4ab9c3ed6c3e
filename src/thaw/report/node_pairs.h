// Pairing the nodes of two graphs that were one graph once.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::report {

struct NodePairs {
  std::vector<const ir::Node*> a, b;          // the graphs' nodes, in order
  std::vector<std::optional<size_t>> b_of_a;  // for each node of a, its partner in b
  std::vector<std::optional<size_t>> a_of_b;  // the inverse
};

// Pairs nodes of the same operator: those that make values of the same name, then those of the same name, then the rest
// in order, by a longest common subsequence of their operators. Time is linear in the nodes unless they differ much;
// past kMostEdits differences the rest of the nodes stays without partner.
inline constexpr size_t kMostEdits = 1500;
NodePairs pair_nodes(const ir::Graph& a, const ir::Graph& b);

// A longest common subsequence of two sequences of tokens as pairs of indices, by Myers' greedy algorithm; nullopt when
// more than `most_edits` tokens would have to be left out.
std::optional<std::vector<std::pair<size_t, size_t>>> common_subsequence(const std::vector<size_t>& a,
                                                                         const std::vector<size_t>& b,
                                                                         size_t most_edits);

}  // namespace thaw::report
