// A node with one output, put where a rewrite needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

// Inserts a node of ai.onnx before another (null: at the end) and returns its output, which is named after `name` and
// new in the graph. The node is called as its output is, unless it is given a name of its own.
Value* insert_node(Graph& graph, Node* before, std::string_view op, std::vector<Value*> inputs,
                   std::vector<Attribute> attributes, std::string_view name, std::string node_name = {});

}  // namespace thaw::ir
