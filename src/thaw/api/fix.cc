#include "thaw/fix.h"

#include <algorithm>
#include <utility>

#include "thaw/api/access.h"
#include "thaw/check.h"
#include "thaw/confirm/fixed.h"
#include "thaw/confirm/run_check.h"
#include "thaw/lift/onetrace/thaw_trace.h"

namespace thaw {

bool FixReport::agrees() const { return confirm::all_agree(checks); }

bool FixReport::left_errors() const {
  const std::vector<RuleInfo> known = rules();
  return std::any_of(left.begin(), left.end(), [&](const Change& change) {
    return std::any_of(known.begin(), known.end(), [&](const RuleInfo& rule) {
      return rule.code == change.kind && rule.severity == Severity::kError;
    });
  });
}

FixReport fix(Model& model, const FixOptions& options) {
  std::unique_ptr<ir::Model> fixed = ir::clone(ModelAccess::begin(model));
  FixReport report = confirm::fix(*fixed, ModelAccess::of(model), options);
  if (report.modified() && report.agrees()) ModelAccess::owner(model) = std::move(fixed);
  return report;
}

FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                      const FixReferenceOptions& options) {
  ModelAccess::begin(model);
  return lifting::onetrace::thaw_trace(ModelAccess::owner(model), reference, options);
}

}  // namespace thaw
