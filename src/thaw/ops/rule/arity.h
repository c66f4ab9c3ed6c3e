// How many operands, results and graphs a node has, the attributes that it cannot do without and the types of all, and whether a
// permutation is one, held against what its operator says.
//
// A file may lie about all of it. It is checked once, before anything is rewritten, so that whoever edits a graph may
// count on what an operator always has.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::ops {

struct ArityFault {
  const ir::Node* node = nullptr;
  std::string what;      // "it has 0 results"
  std::string expected;  // "1 at least"
};

// Every node that has too many or too few of something: in the main graph, in subgraphs and in functions. Of an
// operator that neither ONNX nor Thaw knows nothing is said.
std::vector<ArityFault> find_arity_faults(const ir::Model& model);

// Throws thaw::Error for the first of them.
void require_arity(const ir::Model& model);

}  // namespace thaw::ops
