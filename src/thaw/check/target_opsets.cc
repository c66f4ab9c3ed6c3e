// THAW031: opsets that the target does not take. The other rules of a target look at the model as of the newest opset
// that it takes, since that is what it has to be converted to.
#include <set>
#include <utility>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"

namespace thaw::checking {

void look_for_unsupported_opsets(Evidence& evidence, Findings& findings) {
  const TargetView* view = evidence.target_view();
  if (!view) return;
  std::set<std::pair<std::string, int64_t>> seen;
  auto look = [&](const std::vector<ir::OpsetImport>& imports, const std::string& whose, const Location& where) {
    for (const ir::OpsetImport& import : imports) {
      const ops::TargetDomain* domain = view->target().domain(import.domain);
      if (!domain || (import.version >= domain->oldest && import.version <= domain->newest)) continue;
      if (!seen.emplace(import.domain, import.version).second) continue;
      bool too_new = import.version > domain->newest;
      std::string name = import.domain.empty() ? "ai.onnx" : import.domain;
      Finding& f = findings.add(fmt::format("{} of opset {} of {}; {} takes opset {} to {}", whose, import.version,
                                            name, view->target().title, domain->oldest, domain->newest),
                                where);
      // ONNX Runtime loads older opsets, and has some of their operators.
      if (!too_new) f.severity = Severity::kWarning;
      f.fix = fmt::format("export it at opset {}, or convert it with onnx.version_converter{}",
                          too_new ? domain->newest : domain->oldest,
                          too_new ? "; the other findings are as of that opset" : "");
    }
  };
  look(evidence.model().opset_imports, "the model is", {});
  for (const ir::Function* function : view->functions()) {
    Location where;
    where.graph = fmt::format("function '{}'", function->name);
    look(function->opset_imports, fmt::format("function '{}' is", function->name), where);
  }
}

}  // namespace thaw::checking
