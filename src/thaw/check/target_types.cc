// THAW032: element types that the target's kernel for an operator does not take. Those that it takes under a condition, or of
// which its table does not tell, are THAW037's and THAW038's.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "thaw/check/target_faults.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/operand_types.h"

namespace thaw::checking {
namespace {

using ir::DataType;

// A type that the kernel takes and that holds what the operand holds, or nearly; kUndefined: none.
DataType substitute(DataType type, const ops::TypeSet& taken) {
  constexpr std::array kFloats = {DataType::kFloat, DataType::kFloat16};
  constexpr std::array kIntegers = {DataType::kInt32, DataType::kInt64, DataType::kUint32, DataType::kUint8};
  auto first_of = [&](const auto& candidates) {
    for (DataType candidate : candidates)
      if (taken.contains({ops::Container::kTensor, candidate})) return candidate;
    return DataType::kUndefined;
  };
  if (ir::is_floating(type)) return first_of(kFloats);
  if (ir::is_integer(type) || type == DataType::kBool) return first_of(kIntegers);
  return DataType::kUndefined;
}

std::string how_to_fix(ops::ValueType type, const ops::TypeSet& taken) {
  DataType other = type.container == ops::Container::kTensor ? substitute(type.dtype, taken) : DataType::kUndefined;
  if (other == DataType::kUndefined) return "write it as other operators";
  return fmt::format("compute it in {}, with a Cast around it where the values allow", ir::name_of(other));
}

// An operand as constraints name it.
struct Operand {
  const ir::Value* value = nullptr;
  std::string_view parameter;
  std::string position;  // "input 0"
  bool is_main = false;  // "*" is about it
};

bool is_about(const ops::TypeConstraint& constraint, const Operand& operand) {
  if (constraint.operands == "*") return operand.is_main;
  return constraint.operands == operand.position ||
         (!operand.parameter.empty() && constraint.operands == operand.parameter);
}

// All that a kernel says of the types of one operand.
struct Said {
  ops::TypeSet taken;  // without a condition
  std::vector<const ops::TypeConstraint*> conditional;
  bool is_said = false;
};

Said said_of(const ops::Kernels& kernel, const Operand& operand) {
  Said said;
  for (const ops::TypeConstraint& constraint : kernel.types) {
    if (!is_about(constraint, operand)) continue;
    said.is_said = true;
    if (constraint.support == Support::kSupported)
      said.taken = said.taken | constraint.types;
    else
      said.conditional.push_back(&constraint);
  }
  return said;
}

class TypeLook {
 public:
  TypeLook(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel, TargetFaults& faults)
      : view_(view), at_(at), kernel_(kernel), faults_(faults) {}

  void look() {
    const auto types = ops::operand_types(at_.node->domain(), at_.node->op_type(), at_.opset);
    const std::string main = types ? main_parameter(*types) : std::string();
    const auto operand = [&](const ir::Value* value, std::string_view parameter, std::string position, bool is_first) {
      const bool is_main = main.empty() ? is_first : parameter == main;
      look_at({.value = value, .parameter = parameter, .position = std::move(position), .is_main = is_main});
    };
    const auto inputs = at_.node->inputs(), outputs = at_.node->outputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]) operand(inputs[i], types ? types->input(i) : "", fmt::format("input {}", i), i == 0);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i])
        operand(outputs[i], types ? types->output(i) : "", fmt::format("output {}", i), inputs.empty() && i == 0);
  }

 private:
  // T, or the parameter of the first operand.
  static std::string main_parameter(const ir::OperandTypes& types) {
    if (std::ranges::count(types.inputs, "T") + std::ranges::count(types.outputs, "T") > 0) return "T";
    return std::string(types.inputs.empty() ? types.output(0) : types.input(0));
  }

  void look_at(const Operand& operand) {
    const Said said = said_of(*kernel_.kernels, operand);
    if (!said.is_said) return;
    const auto quantized = view_.quantized_type(*operand.value);
    for (const Met& met : view_.met(operand.value)) {
      if (!met.type || said.taken.contains(*met.type) || (quantized && said.taken.contains(*quantized))) continue;
      const ops::TypeConstraint* under = nullptr;
      for (const ops::TypeConstraint* constraint : said.conditional)
        if (constraint->others || constraint->types.contains(*met.type)) under = constraint;
      under ? say(operand, *met.type, *under) : refuse(operand, *met.type, said);
    }
  }

  std::string key_of(const Operand& operand, const std::string& type) const {
    return fmt::format("{}@{} {} {}", ir::operator_name(*at_.node), at_.opset,
                       operand.parameter.empty() ? std::string_view(operand.position) : operand.parameter, type);
  }

  void say(const Operand& operand, ops::ValueType type, const ops::TypeConstraint& under) {
    const std::string text = ops::to_string(type);
    faults_.push_back({.rule = rule_of(under.support),
                       .support = under.support,
                       .key = key_of(operand, text),
                       .message = fmt::format("{} has {} in '{}'; {}", name_of(*at_.node), text, operand.value->name(),
                                              what_is_said(under.support, view_.target().title, under.why)),
                       .tensor = operand.value->name()});
  }

  void refuse(const Operand& operand, ops::ValueType type, const Said& said) {
    const std::string text = ops::to_string(type);
    ops::TypeSet taken = said.taken;
    for (const ops::TypeConstraint* constraint : said.conditional) taken = taken | constraint->types;
    const std::string parameter =
        operand.parameter.empty() ? operand.position : fmt::format("type parameter {}", operand.parameter);
    faults_.push_back({.rule = kTypeRule,
                       .key = key_of(operand, text),
                       .message = fmt::format("{} has {} in '{}'; {}'s kernel takes {} there", name_of(*at_.node), text,
                                              operand.value->name(), view_.target().title, ops::to_string(taken)),
                       .fix = how_to_fix(type, taken),
                       .tensor = operand.value->name(),
                       .details = {{"kernel", fmt::format("{} of opset {}, {}", ir::operator_name(*at_.node),
                                                          kernel_.opset, parameter)}}});
  }

  const TargetView& view_;
  const TargetNode& at_;
  const ops::KernelMatch& kernel_;
  TargetFaults& faults_;
};

}  // namespace

void find_type_faults(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel,
                      TargetFaults& faults) {
  TypeLook(view, at, kernel, faults).look();
}

}  // namespace thaw::checking
