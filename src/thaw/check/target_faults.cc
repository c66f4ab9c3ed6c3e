// Of each node all that a target says of it, and the rules that report nothing else: THAW030 (operators), THAW032 (types),
// THAW036 (limits), THAW037 (taken in part) and THAW038 (not known).
#include "thaw/check/target_faults.h"

#include <fmt/format.h>

#include "thaw/check/grouped_nodes.h"

namespace thaw::checking {

std::string what_is_said(Support support, std::string_view title, std::string_view why) {
  return support == Support::kUnknown ? fmt::format("whether {} takes it is not known, {}", title, why)
                                      : fmt::format("{} takes it in part, {}", title, why);
}

TargetFaults find_target_faults(const TargetView& view, const TargetNode& at) {
  TargetFaults faults;
  const ops::Target& target = view.target();
  if (at.on_cpu) return faults;
  if (at.control_flow && !at.at_load && !target.control_flow) {
    faults.push_back({.rule = kControlFlowRule, .key = at.node->op_type(), .message = "control flow"});
    return faults;
  }
  find_operator_faults(view, at, faults);
  const ops::TargetDomain* domain = target.domain(at.node->domain());
  if (!faults.empty() || !domain || domain->kernels.empty() || at.at_load || at.opset == 0) return faults;
  const auto kernel = ops::find_kernel(*domain, at.node->op_type(), at.opset);
  if (!kernel) return faults;
  find_type_faults(view, at, *kernel, faults);
  find_limit_faults(view, at, *kernel, faults);
  return faults;
}

void report_target_faults(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view) return;
  GroupedNodes groups;
  for (const TargetNode& at : view->nodes()) {
    for (const TargetFault& fault : evidence.target_faults(at)) {
      if (fault.rule != findings.code()) continue;
      bool is_new = false;
      GroupedNodes::Group& group = groups.add(fault.key, at, is_new);
      if (!is_new) continue;
      group.message = fault.message;
      group.fix = fault.fix;
      group.tensor = fault.tensor;
      group.details = fault.details;
      if (fault.has_other_form)
        group.commands = {fmt::format("thaw optimize {{}} -o {0}.onnx --target {0}", view->target().name)};
    }
  }
  groups.report(findings);
}

}  // namespace thaw::checking
