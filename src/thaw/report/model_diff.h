// What differs between two models: interface, opsets, nodes, attributes, weights, declared and inferred dims.
//
// Nodes are paired by the names of what they make, then by their own names, then, among those that are left, in order
// (see node_pairs.h); a node is the same when its operator and attributes are and its inputs are each other's partners,
// whatever they are called. Subgraphs of paired nodes and functions of one name are compared likewise.
#pragma once

#include "thaw/diff.h"
#include "thaw/ir/graph/model.h"

namespace thaw::report {

using thaw::Difference;
using thaw::DiffItem;
using thaw::DiffKind;
using thaw::DiffOptions;
using thaw::ModelDiff;

ModelDiff diff(const ir::Model& a, const ir::Model& b, const DiffOptions& options = {});

}  // namespace thaw::report
