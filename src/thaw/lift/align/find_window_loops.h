// Unrolled structure: a loop over windows or chunks that an exporter wrote out, a branch for each.
//
// Tensors are cut along an axis, by Split or by Slices one after the other; every slice goes through nodes of its own,
// and Concat joins the results in the same order. The branches are the same program on slices of other lengths. How
// many there are, and how long, is frozen into the trace: traces of other sizes have other numbers of branches.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "thaw/ir/graph/graph.h"
#include "thaw/lift/align/slice.h"

namespace thaw::lifting {

struct Unrolled {
  std::vector<Slice> slices;                    // of the first branch, one of each tensor that is cut
  std::vector<ir::Node*> joins;                 // Concat nodes that read what the branches give, in order
  std::vector<int64_t> lengths;                 // of the slices, by branch; every tensor is cut into these
  std::unordered_set<const ir::Node*> body;     // the first branch
  std::unordered_set<const ir::Node*> repeats;  // the nodes of all others
  // Constants that differ between branches: by the first branch's node and its input, the tensor in each branch.
  std::map<std::pair<const ir::Node*, int>, std::vector<const ir::Tensor*>> constants;
};

// Those of a graph in the order of their joins. A branch must keep to itself: what it makes is read by it and the joins
// alone. A single slice counts where a Concat of one operand follows.
std::vector<Unrolled> find_unrolled(const ir::Graph& graph);

}  // namespace thaw::lifting
