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

std::vector<std::string> unsupported_by(const ir::Model& result, std::string_view target) {
  std::vector<std::string> problems;
  for (const Finding& finding : findings_of_target(result, target))
    if (finding.severity != Severity::kNote) problems.push_back(fmt::format("{} {}", finding.code, finding.message));
  return problems;
}

}  // namespace thaw::verbs
