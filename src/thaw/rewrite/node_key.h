// Keys of nodes: those that compute the same from the same have equal ones.
#pragma once

#include <functional>
#include <string>

#include "thaw/ir/graph/graph.h"

namespace thaw::rewrite {

// What stands for an operand: equal texts, equal values.
using OperandKey = std::function<void(std::string& key, const ir::Value* operand)>;

// By the address of an operand.
void append_address(std::string& key, const ir::Value* operand);

// A tensor's type, dims and bytes; false, and nothing, for one of strings or of more bytes than are worth comparing.
bool append_tensor(std::string& key, const ir::Tensor& tensor);

// Of the operator, its operands and its attributes. Empty where nothing can be said: random numbers, nodes that hold graphs,
// operators that Thaw does not know.
std::string key_of(const ir::Node& node, const OperandKey& append_operand = append_address);

}  // namespace thaw::rewrite
