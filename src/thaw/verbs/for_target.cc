#include "thaw/verbs/for_target.h"

#include <fmt/format.h>

#include "thaw/check/check.h"

namespace thaw::verbs {

std::vector<Finding> findings_of_target(const ir::Model& result, std::string_view target) {
  CheckOptions options;
  options.only = {"THAW03"};
  options.target = target;
  return checking::check(result, options).findings;
}

ops::TargetVerdict verdict_of(const ir::Model& result, std::string_view target) {
  ops::TargetVerdict verdict;
  for (const Finding& finding : findings_of_target(result, target)) {
    if (finding.severity == Severity::kNote) continue;
    auto& list = finding.severity == Severity::kError ? verdict.unsupported : verdict.warnings;
    list.push_back(fmt::format("{} {}", finding.code, finding.message));
  }
  return verdict;
}

}  // namespace thaw::verbs
