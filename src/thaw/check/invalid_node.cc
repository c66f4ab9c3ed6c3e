// THAW001, THAW002, THAW050: nodes that inference says cannot run, operators that nobody here knows, and what was not
// looked at since it would have taken too much.
#include <fmt/format.h>

#include "thaw/check/rule.h"

namespace thaw::checking {

void look_for_invalid_nodes(Evidence& evidence, Findings& findings) {
  for (const infer::Problem& p : evidence.inferred().problems()) {
    Finding& f = findings.add(fmt::format("{}: {}", name_of(*p.node), p.message), location_of(*p.node));
    f.fix = "export the model again, or fix the node: it runs at no input size";
  }
}

void look_for_unknown_operators(Evidence& evidence, Findings& findings) {
  for (const std::string& op : evidence.inferred().unknown_operators()) {
    Location where;
    where.op = op;
    findings.add(fmt::format("{} is unknown to Thaw: its output sizes are taken as declared, or unknown", op), where);
  }
}

void look_for_spent_budget(Evidence& evidence, Findings& findings) {
  const Budget& budget = *evidence.model().budget;
  if (!budget.is_out()) return;
  Finding& f = findings.add(fmt::format("over budget: {}; unknown sizes may have this cause", budget.text()));
  f.fix = "give --max-visits or --max-memory if you trust the file";
}

}  // namespace thaw::checking
