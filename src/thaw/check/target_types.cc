// THAW032: element types that the target's kernel for an operator does not take. Those that it takes under a condition, or of
// which its table does not tell, are THAW037's and THAW038's.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/check/target_faults.h"
#include "thaw/ir/graph/location.h"
#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/target/kernel_types.h"

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

// An operand of the node, and how constraints name it.
struct Operand {
  const ir::Value* value = nullptr;
  ops::KernelOperand name;
};

class TypeLook {
 public:
  TypeLook(const TargetView& view, const TargetNode& at, const ops::KernelMatch& kernel, TargetFaults& faults)
      : view_(view), at_(at), kernel_(kernel), faults_(faults) {}

  void look() {
    const auto types = ops::operand_types(at_.node->domain(), at_.node->op_type(), at_.opset);
    const auto inputs = at_.node->inputs(), outputs = at_.node->outputs();
    const auto look_at_all = [&](const auto& values, std::vector<ops::KernelOperand> names) {
      for (size_t i = 0; i < values.size(); ++i)
        if (values[i]) look_at({.value = values[i], .name = std::move(names[i])});
    };
    look_at_all(inputs, ops::kernel_inputs(types, inputs.size()));
    look_at_all(outputs, ops::kernel_outputs(types, outputs.size(), inputs.size()));
  }

 private:
  void look_at(const Operand& operand) {
    const ops::SaidTypes said = ops::said_types(*kernel_.kernels, operand.name);
    if (!said.is_said) return;
    const auto quantized = view_.quantized_type(*operand.value);
    for (const Met& met : view_.met(operand.value)) {
      if (!met.type || (quantized && said.taken.contains(*quantized))) continue;
      const ops::TypeConstraint* under = nullptr;
      if (said.support_of(*met.type, &under) == Support::kSupported) continue;
      under ? say(operand, *met.type, *under) : refuse(operand, *met.type, said);
    }
  }

  std::string key_of(const Operand& operand, const std::string& type) const {
    return fmt::format("{}@{} {} {}", ir::operator_name(*at_.node), at_.opset,
                       operand.name.parameter.empty() ? operand.name.position : operand.name.parameter, type);
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

  void refuse(const Operand& operand, ops::ValueType type, const ops::SaidTypes& said) {
    const std::string text = ops::to_string(type);
    const ops::TypeSet taken = said.all();
    const std::string parameter = operand.name.parameter.empty()
                                      ? operand.name.position
                                      : fmt::format("type parameter {}", operand.name.parameter);
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
