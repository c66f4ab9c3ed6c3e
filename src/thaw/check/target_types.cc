// THAW032: element types that the target's kernel for an operator does not take.
#include <array>

#include <fmt/format.h>

#include "thaw/check/grouped_nodes.h"
#include "thaw/check/rule.h"
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
  std::string rest = "ONNX Runtime runs it on the CPU";
  if (other == DataType::kUndefined) return "write it as other operators; " + rest;
  return fmt::format("compute it in {}, with a Cast around it where the values allow; {}", ir::name_of(other), rest);
}

class TypeLook {
 public:
  explicit TypeLook(const TargetView& view) : view_(view) {}

  void look_at(const TargetNode& at) {
    const ops::TargetDomain* domain = view_.target().domain(at.node->domain());
    if (!domain || domain->kernels.empty() || at.at_load || at.opset == 0) return;
    if (at.control_flow && !view_.target().control_flow) return;  // THAW033's
    const Known& known = known_of(at, *domain);
    if (!known.match || !known.types) return;
    for (size_t i = 0; i < at.node->inputs().size(); ++i)
      look_at_operand(at, known, at.node->inputs()[i], known.types->input(i));
    for (size_t i = 0; i < at.node->outputs().size(); ++i)
      look_at_operand(at, known, at.node->outputs()[i], known.types->output(i));
  }
  void report(Findings& findings) const { groups_.report(findings); }

 private:
  // What is the same for each node of an operator.
  struct Known {
    std::optional<ops::KernelMatch> match;
    std::optional<ir::OperandTypes> types;
  };

  const Known& known_of(const TargetNode& at, const ops::TargetDomain& domain) {
    auto [it, inserted] = known_.try_emplace(fmt::format("{}@{}", ir::operator_name(*at.node), at.opset));
    if (inserted) {
      it->second.match = ops::find_kernel(domain, at.node->op_type(), at.opset);
      it->second.types = ops::operand_types(at.node->domain(), at.node->op_type(), at.opset);
    }
    return it->second;
  }

  void look_at_operand(const TargetNode& at, const Known& known, const ir::Value* value, std::string_view parameter) {
    const ops::TypeSet* taken = value ? known.match->kernels->types(parameter) : nullptr;
    if (!taken) return;
    for (const Met& met : view_.met(value)) {
      if (!met.type || taken->contains(*met.type)) continue;
      std::string type = ops::to_string(*met.type);
      std::string key = fmt::format("{}@{} {} {}", ir::operator_name(*at.node), at.opset, parameter, type);
      bool is_new = false;
      auto& group = groups_.add(key, at, is_new);
      if (!is_new) continue;
      group.message = fmt::format("{} has {} in '{}'; {}'s kernel takes {} there", name_of(*at.node), type,
                                  value->name(), view_.target().title, ops::to_string(*taken));
      group.tensor = value->name();
      group.fix = how_to_fix(*met.type, *taken);
      group.details = {{"kernel", fmt::format("{} of opset {}, type parameter {}", ir::operator_name(*at.node),
                                              known.match->opset, parameter)}};
    }
  }

  const TargetView& view_;
  GroupedNodes groups_;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace

void look_for_unsupported_types(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view) return;
  TypeLook look(*view);
  for (const TargetNode& at : view->nodes()) look.look_at(at);
  look.report(findings);
}

}  // namespace thaw::checking
