// Whether two traces, or two branches of one, hold the same.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::lifting {

// Whether two tensors hold the same. Of large ones, which are weights, only some pages are compared.
bool same_tensor(const ir::Tensor& a, const ir::Tensor& b);

// Graphs in them are the same where their nodes and constants are.
bool same_attribute(const ir::Attribute& a, const ir::Attribute& b);

// Whether it is one of the graphs that a node runs.
bool holds_graph(const ir::Attribute& attribute);

}  // namespace thaw::lifting
