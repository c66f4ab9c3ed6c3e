// THAW033: control flow on a target that runs a graph from end to end.
#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"

namespace thaw::checking {

void look_for_control_flow(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view || view->target().control_flow) return;
  for (const TargetNode& at : view->nodes()) {
    const ir::Node& node = *at.node;
    // An If that a constant decides is no branch when it comes to run.
    if (!at.control_flow || at.at_load) continue;
    Finding& f = findings.add(
        fmt::format("{} is control flow; {} takes straight graphs only", name_of(node), view->target().title),
        location_of(at));
    f.fix = node.op_type() == "If" ? "compute both branches and choose with Where, or make a model of each branch"
                                   : "write the iterations as an axis of the tensors, padded and masked where they "
                                     "differ, or unroll them where their number is fixed";
  }
}

}  // namespace thaw::checking
