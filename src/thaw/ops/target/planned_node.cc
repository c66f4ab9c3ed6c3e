#include "thaw/ops/target/planned_node.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/ops/rule/operand_types.h"
#include "thaw/ops/target/kernel_types.h"

namespace thaw::ops {
namespace {

using ir::DataType;
using Asked = KernelCondition::Kind;

// The worse of two.
void keep_worse(Taken& all, Taken one) {
  if (one.support > all.support) all = std::move(one);
}

Taken types_taken(const Target& target, const PlannedNode& node, const Kernels& kernels, int64_t opset) {
  const auto types = operand_types(node.domain, node.op, opset);
  Taken all;
  const auto look = [&](const std::vector<DataType>& given, const std::vector<KernelOperand>& names) {
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] == DataType::kUndefined) continue;
      const SaidTypes said = said_types(kernels, names[i]);
      const TypeConstraint* under = nullptr;
      const Support support = said.support_of({Container::kTensor, given[i]}, &under);
      if (support == Support::kSupported) continue;
      keep_worse(all, {support, fmt::format("{}'s kernel of {} takes {} as {}{}", target.title, node.op,
                                            under ? ir::name_of(given[i]) : to_string(said.all()), names[i].position,
                                            under ? fmt::format(", {}", under->why)
                                                  : fmt::format(", not {}", ir::name_of(given[i])))});
    }
  };
  look(node.inputs, kernel_inputs(types, node.inputs.size()));
  look(node.outputs, kernel_outputs(types, node.outputs.size(), node.inputs.size()));
  return all;
}

// Of what is known of the node; the rest is `check --target`'s.
Taken condition_taken(const Target& target, const PlannedNode& node, const KernelCondition& condition) {
  const auto has = [&](int number) {
    return static_cast<size_t>(number) < node.inputs.size() &&
           node.inputs[static_cast<size_t>(number)] != DataType::kUndefined;
  };
  const std::string kernel = fmt::format("{}'s kernel of {}", target.title, node.op);
  const auto refuse = [&](std::string why) { return Taken{Support::kUnsupported, std::move(why)}; };
  switch (condition.kind) {
    case Asked::kAbsent:
      for (const int number : condition.numbers)
        if (has(number)) return refuse(fmt::format("{} takes no input {}", kernel, number));
      return {};
    case Asked::kZeros:
      for (const int number : condition.numbers)
        if (node.has_zeros && has(number)) return refuse(fmt::format("{} takes 0 alone as zero point", kernel));
      return {};
    case Asked::kAttribute: {
      const auto given =
          std::ranges::find(node.attributes, condition.name, &std::pair<std::string_view, std::string>::first);
      const bool is_other = given != node.attributes.end() &&
                            std::ranges::find(condition.values, given->second) == condition.values.end();
      return is_other ? refuse(fmt::format("{} takes {} {}, not {}", kernel, condition.name,
                                           fmt::join(condition.values, " or "), given->second))
                      : Taken();
    }
    case Asked::kSaid:
      return {condition.support, fmt::format("{}: {}", kernel, condition.why)};
    default:
      return {};
  }
}

}  // namespace

bool has_kernel_table(const Target& target) {
  const TargetDomain* standard = target.domain("");
  return standard && !standard->kernels.empty();
}

Taken how_taken(const Target& target, const PlannedNode& node, int64_t opset) {
  if (!has_kernel_table(target)) return {};
  const TargetDomain* domain = target.domain(node.domain);
  if (!domain && !target.is_listed(node.domain))
    return {Support::kUnknown, fmt::format("the list of {}'s operators says nothing of {}", target.title, node.domain)};
  if (!domain) return {Support::kUnsupported, fmt::format("{} takes no operators of {}", target.title, node.domain)};
  const bool is_standard = node.domain.empty();
  if (is_standard && opset > domain->newest)
    return {Support::kUnsupported, fmt::format("{} needs opset {}, and {} supports opset {} at most", node.op, opset,
                                               target.title, domain->newest)};
  const int64_t version = is_standard ? opset : 1;
  const auto kernel = find_kernel(*domain, node.op, version);
  if (!kernel)
    return target.is_tested
               ? Taken{Support::kUnknown,
                       fmt::format("no test of {} is known to have run on {}", node.op, target.title)}
               : Taken{Support::kUnsupported, fmt::format("{} has no kernel of {}", target.title, node.op)};
  Taken all = types_taken(target, node, *kernel->kernels, version);
  for (const KernelCondition& condition : kernel->kernels->conditions)
    keep_worse(all, condition_taken(target, node, condition));
  return all;
}

}  // namespace thaw::ops
