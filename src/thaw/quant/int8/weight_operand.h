// Which operand of a node is a weight that can be kept in 8 bits, and along which axis it has channels: the registry tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ops/target/int8_kernels.h"

namespace thaw::quantizing::int8 {

// A weight as a node reads it.
struct WeightOperand {
  int input = 1;               // of the node
  ir::Value* value = nullptr;  // the constant: of float32, or of 16 bits, which a Cast widens
  const ir::Tensor* tensor = nullptr;
  bool behind_transpose = false;  // what is read is the constant, transposed
  int axis = -1;                  // of the constant, with a position for each channel of the result; -1: there is none
};

// A node whose weights can be kept in 8 bits.
struct WeightedNode {
  ir::Node* node = nullptr;
  ops::Int8Kernel kernel = ops::Int8Kernel::kNone;
  std::vector<WeightOperand> weights;
  int data = 0;   // the operand that meets the weight
  int bias = -1;  // the operand that is a constant which is added to each channel as it is; -1: none such
  const ir::Value* bias_value = nullptr;  // that constant
};

struct Considered {
  std::optional<WeightedNode> found;
  std::string why_not;  // of a node with weights, or that sums products; else empty
};

// Whether it is decoded from codes already.
bool is_coded(const ir::Value* value);

Considered consider(ir::Node& node, const ir::Model& model, const infer::Result& facts);

}  // namespace thaw::quantizing::int8
