#include "thaw/ops/target/kernel_types.h"

#include <algorithm>

#include <fmt/format.h>

namespace thaw::ops {
namespace {

// T, or the parameter of the first operand.
std::string main_parameter(const std::optional<ir::OperandTypes>& types) {
  if (!types) return {};
  if (std::ranges::count(types->inputs, "T") + std::ranges::count(types->outputs, "T") > 0) return "T";
  return std::string(types->inputs.empty() ? types->output(0) : types->input(0));
}

bool is_about(const TypeConstraint& constraint, const KernelOperand& operand) {
  if (constraint.operands == "*") return operand.is_main;
  return constraint.operands == operand.position ||
         (!operand.parameter.empty() && constraint.operands == operand.parameter);
}

// first_is_main: where no parameter is the main one.
std::vector<KernelOperand> operands_of(const std::optional<ir::OperandTypes>& types, size_t count,
                                       std::string_view side, bool first_is_main, auto parameter_of) {
  const std::string main = main_parameter(types);
  std::vector<KernelOperand> operands;
  for (size_t i = 0; i < count; ++i) {
    std::string parameter(types ? parameter_of(*types, i) : "");
    const bool is_main = main.empty() ? first_is_main && i == 0 : parameter == main;
    operands.push_back({std::move(parameter), fmt::format("{} {}", side, i), is_main});
  }
  return operands;
}

}  // namespace

std::vector<KernelOperand> kernel_inputs(const std::optional<ir::OperandTypes>& types, size_t count) {
  return operands_of(types, count, "input", true, [](const ir::OperandTypes& own, size_t i) { return own.input(i); });
}

std::vector<KernelOperand> kernel_outputs(const std::optional<ir::OperandTypes>& types, size_t count, size_t inputs) {
  return operands_of(types, count, "output", inputs == 0,
                     [](const ir::OperandTypes& own, size_t i) { return own.output(i); });
}

Support SaidTypes::support_of(ValueType type, const TypeConstraint** under) const {
  if (!is_said || taken.contains(type)) return Support::kSupported;
  const TypeConstraint* last = nullptr;
  for (const TypeConstraint* constraint : conditional)
    if (constraint->others || constraint->types.contains(type)) last = constraint;
  if (under) *under = last;
  return last ? last->support : Support::kUnsupported;
}

TypeSet SaidTypes::all() const {
  TypeSet all = taken;
  for (const TypeConstraint* constraint : conditional) all = all | constraint->types;
  return all;
}

SaidTypes said_types(const Kernels& kernels, const KernelOperand& operand) {
  SaidTypes said;
  for (const TypeConstraint& constraint : kernels.types) {
    if (!is_about(constraint, operand)) continue;
    said.is_said = true;
    if (constraint.support == Support::kSupported)
      said.taken = said.taken | constraint.types;
    else
      said.conditional.push_back(&constraint);
  }
  return said;
}

}  // namespace thaw::ops
