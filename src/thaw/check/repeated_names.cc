// THAW006: a name that the file makes more than once. ONNX wants each value made once; ONNX Runtime lets constants of one
// name pass and reads the last, other runtimes refuse them or read the first. Or a name of several nodes, which ONNX Runtime refuses.
#include <fmt/format.h>

#include "thaw/check/rule.h"

namespace thaw::checking {

void look_for_repeated_names(Evidence& evidence, Findings& findings) {
  for (const ir::Repeated& repeated : evidence.model().repeated) {
    Finding& f = findings.add(fmt::format("'{}' names {}: ONNX Runtime reads the last one, other runtimes may not",
                                          repeated.name, repeated.makers));
    f.where.tensor = repeated.name;
    f.fix = "`thaw fix` writes the one that ONNX Runtime reads";
  }
  for (const ir::Node* node : ir::nodes_of_taken_names(*evidence.model().graph)) {
    Finding& f = findings.add(
        fmt::format("a node before it in its graph is named '{}', too: ONNX Runtime does not load the model",
                    node->name),
        location_of(*node));
    f.severity = Severity::kError;
    f.fix = "`thaw fix` gives each a name of its own";
  }
}

}  // namespace thaw::checking
