#include "thaw/check/check.h"

#include "thaw/api/access.h"
#include "thaw/confirm/breaking_sizes.h"
#include "thaw/core/error.h"
#include "thaw/report/findings.h"

namespace thaw {

bool CheckReport::failed() const { return report::worth_failing(report::count(findings)); }

CheckReport check(const Model& model, const CheckOptions& options) {
  if (options.run && options.dims.empty()) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "there are no sizes to run at",
                                              .where = "CheckOptions::run",
                                              .expected = "dims too, such as \"n=1..8,h=64..1024:32\""});
  }
  CheckReport report = checking::check(ModelAccess::begin(model), options);
  if (options.run) {
    const auto own = ir::clone(ModelAccess::of(model));  // the runs drop what it declares inside
    confirm::run_at_breaking_sizes(*own, report.findings, checking::parse_dims(options.dims), options.feeds);
  }
  return report;
}

std::string findings_json(const std::string& model, const std::vector<Finding>& findings) {
  return report::findings_json(model, findings);
}

std::string findings_sarif(const std::string& model, const std::vector<Finding>& findings) {
  return report::findings_sarif(model, findings);
}

}  // namespace thaw
