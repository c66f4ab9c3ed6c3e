// THAW001, THAW002: nodes that inference says cannot run, and operators that nobody here knows.
#include <fmt/format.h>

#include "thaw/check/rule.h"

namespace thaw::checking {

void look_for_invalid_nodes(Evidence& evidence, Findings& findings) {
  for (const infer::Problem& p : evidence.inferred().problems()) {
    Finding& f = findings.add(fmt::format("{}: {}", name_of(*p.node), p.message), place_of(*p.node));
    f.fix = "export the model again, or mend the node: no input size makes it run";
  }
}

void look_for_unknown_operators(Evidence& evidence, Findings& findings) {
  for (const std::string& op : evidence.inferred().unknown_operators()) {
    Place where;
    where.op = op;
    findings.add(
        fmt::format(
            "{} is not among the operators that Thaw knows: the sizes it makes are taken as declared, or unknown", op),
        where);
  }
  if (evidence.inferred().out_of_budget())
    findings.add(
        "the model's functions and loops call each other so often that inference stopped: some sizes are unknown for "
        "that alone");
}

}  // namespace thaw::checking
