// What a kernel says of the types of an operator's operands.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/schema.h"
#include "thaw/ops/target/target.h"

namespace thaw::ops {

// An operand as constraints name it.
struct KernelOperand {
  std::string parameter;  // its type parameter; empty where no schema tells it
  std::string position;   // "input 0", "output 1"
  bool is_main = false;   // constraints of "*" are about it
};

// The operands of a node. `types`: nullopt where no schema has the operator.
std::vector<KernelOperand> kernel_inputs(const std::optional<ir::OperandTypes>& types, size_t count);
std::vector<KernelOperand> kernel_outputs(const std::optional<ir::OperandTypes>& types, size_t count, size_t inputs);

// All that a kernel says of the types of one operand.
struct SaidTypes {
  bool is_said = false;
  TypeSet taken = {};  // without a condition
  std::vector<const TypeConstraint*> conditional = {};

  // How far the type is taken: kSupported where nothing is said. `under`: the constraint that it is under, where there is one.
  Support support_of(ValueType type, const TypeConstraint** under = nullptr) const;
  TypeSet all() const;  // those under a condition too
};
SaidTypes said_types(const Kernels& kernels, const KernelOperand& operand);

}  // namespace thaw::ops
