// Which operands and results of a node have the type that it computes in.
#pragma once

#include <string>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

struct TypedOperands {
  // Numbers of operands and results of float32 that change with the node. An operand whose numbers are not computed
  // with (the source of a Cast, what a Shape looks at) is none: it is read in any type.
  std::vector<int> inputs, outputs;
  // Operands of float32 that are taken in no other type: a Resize's scales.
  std::vector<int> fixed_inputs;
  std::string attribute;  // that says the type of the results: a Cast's "to"; empty: the operands do
  std::string why_not;    // one clause: why the node cannot compute in the type; empty: it can
};

// `to` is kFloat16 or kBfloat16.
TypedOperands typed_operands(const ir::Node& node, const ir::Model& model, const infer::Result& facts, ir::DataType to);

}  // namespace thaw::quantizing
