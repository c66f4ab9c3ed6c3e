// THAW035: ranks known only at run time, on a target that compiles the graph before it runs: a Reshape by a target
// whose length depends on data, a Squeeze without axes.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {
namespace {

bool is_unranked(const TargetView& view, const ir::Value* value) {
  return value && std::ranges::any_of(view.met(value), [](const Met& m) { return m.tensor && !m.ranked; });
}

}  // namespace

void look_for_unknown_ranks(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view || !view->target().static_ranks) return;
  for (const ir::Value* input : evidence.model().graph->inputs()) {
    if (!is_unranked(*view, input)) continue;
    Finding& f = findings.add(
        fmt::format("input '{}' is declared without a rank; {} needs one", input->name(), view->target().title),
        location_of(*input));
    f.fix = "declare its dims, by names where they vary";
  }
  // What cannot run at all, or follows no rule of Thaw's, is said elsewhere and tells nothing of ranks.
  std::unordered_set<const ir::Node*> broken;
  for (const infer::Problem& p : evidence.inferred().problems()) broken.insert(p.node);
  for (const TargetNode& at : view->nodes()) {
    const ir::Node& node = *at.node;
    if (broken.contains(&node) || !ops::registry().find(node.domain(), node.op_type())) continue;
    // Branches of different ranks go with the If, which THAW033 names.
    if (at.control_flow && !view->target().control_flow) continue;
    // What follows from an unknown rank is the fault of the first node that lost it.
    if (std::ranges::any_of(node.inputs(), [&](const ir::Value* in) { return is_unranked(*view, in); })) continue;
    for (const ir::Value* out : node.outputs()) {
      if (!is_unranked(*view, out)) continue;
      Finding& f = findings.add(
          fmt::format("the rank of '{}', made by {}, is not known from the graph: {} needs it before the model runs",
                      out->name(), name_of(node), view->target().title),
          location_of(at));
      f.where.tensor = out->name();
      f.fix =
          node.op_type() == "Squeeze" ? "give the Squeeze its axes" : "make the shape of a fixed number of elements";
    }
  }
}

}  // namespace thaw::checking
