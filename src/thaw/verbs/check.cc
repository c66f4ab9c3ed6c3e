#include "thaw/check/check.h"

#include "thaw/check/causes.h"
#include "thaw/confirm/breaking_sizes.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/report/findings.h"
#include "thaw/report/modules.h"
#include "thaw/rewrite/constant_weights.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/feeds.h"

namespace thaw {

bool CheckReport::accepted() const { return !report::worth_failing(report::count(findings)); }

CheckReport check(const Model& model, const CheckOptions& options) {
  if (options.run && options.sizes.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "there are no sizes to run at",
                                              .where = "--run",
                                              .expected = "--sizes too, such as --sizes n=1..8,h=64..1024:32"});
  const CallClock clock;
  const ir::Model& given = ModelAccess::begin(model);
  CheckReport report = checking::check(given, options);
  report.model = given.path.string();
  report.overridable_initializers = rewrite::count_replaceable(given);
  report.is_proven = !options.sizes.empty();
  if (options.run) {
    const auto own = ir::clone(given);  // the runs drop what it declares inside
    confirm::run_at_breaking_sizes(*own, report.findings, checking::parse_dims(options.sizes),
                                   verbs::with_files(options.feeds, given));
  }
  if (options.modules) report::sum_up_modules(given, report);
  report.findings = checking::merge_causes(std::move(report.findings));
  return report;
}

}  // namespace thaw
