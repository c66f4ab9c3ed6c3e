// What a node computes, as a text: equal texts, equal results.
#pragma once

#include <functional>
#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::measuring {

// Adds what stands for a value of the graphs around.
using AppendValue = std::function<void(std::string& key, const ir::Value& value)>;

using AppendTensor = std::function<void(std::string& key, const ir::Tensor& tensor)>;

// Tensors told apart by where their bytes lie, those of up to a megabyte by what they hold: of large weights none is read.
// Within one process, between copies of a model.
void append_location(std::string& key, const ir::Tensor& tensor);
// By what they hold.
void append_content(std::string& key, const ir::Tensor& tensor);

// Operator, attributes and operands; graphs inside node by node.
void append_node(std::string& key, const ir::Node& node, const AppendValue& operand,
                 const AppendTensor& tensor = append_location);

}  // namespace thaw::measuring
