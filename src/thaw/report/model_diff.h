// What differs between two models: interface, opsets, nodes, attributes, weights, declared and inferred dims.
//
// Nodes are paired by the names of what they make, then by their own names, then, among those that are left, in order
// (see node_pairs.h); a node is the same when its operator and attributes are and its inputs are each other's partners,
// whatever they are called. Subgraphs of paired nodes and functions of one name are compared likewise.
#pragma once

#include <string>
#include <unordered_map>

#include "thaw/diff.h"
#include "thaw/ir/graph/model.h"

namespace thaw::report {

using thaw::Difference;
using thaw::DiffItem;
using thaw::DiffKind;
using thaw::DiffOptions;
using thaw::ModelDiff;

ModelDiff diff(const ir::Model& a, const ir::Model& b, const DiffOptions& options = {});

// "attribute axis: 1 -> 2", "values: 3 of 64 elements differ"; "Equal: 12 nodes." of all of it.
std::string describe(const Difference& difference);
std::string describe(const ModelDiff& diff);

}  // namespace thaw::report

namespace thaw {

// Which part of the one model stands for which of the other; a part without partner is not in it. For who draws the two:
// the models must outlive it.
struct DiffPairs {
  std::unordered_map<const ir::Graph*, const ir::Graph*> graphs;  // of b's, in a
  std::unordered_map<const ir::Node*, const ir::Node*> a_of_b, b_of_a;
  std::unordered_map<const ir::Value*, const ir::Value*> values;   // of a's, in b
  std::unordered_map<const ir::Node*, size_t> changed;             // of b: which of ModelDiff::nodes says what differs
  std::unordered_map<const ir::Value*, size_t> weights, inferred;  // the same, of those
};

}  // namespace thaw
