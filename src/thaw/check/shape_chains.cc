// THAW034: nodes that compute the target of a Reshape where a constant of 0 and -1 says the same. Asked for targets
// that leave the computing of shapes to the host: there each such chain makes the device wait.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"
#include "thaw/infer/shape_chain.h"

namespace thaw::checking {

void look_for_shape_chains(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view || !view->target().shapes_on_host) return;
  dim::Scope scope;
  const infer::Result literals = infer::infer_literals(evidence.model(), scope);
  for (const TargetNode& at : view->nodes()) {
    // A function's body is inferred anew at each call; its Reshapes have no one target.
    if (at.function || at.at_load) continue;
    auto chain = infer::shape_chain(*at.node, evidence.inferred(), literals);
    if (!chain || view->is_constant(*at.node->input(1))) continue;
    Finding& f = findings.add(fmt::format("{} takes a target computed by {} nodes; the constant [{}] is equivalent",
                                          name_of(*at.node), chain->nodes, fmt::join(chain->target, ", ")),
                              location_of(at));
    f.where.tensor = at.node->input(1)->name();
    f.fix = "`thaw fix` writes the constant";
  }
}

}  // namespace thaw::checking
