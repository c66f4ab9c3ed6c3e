#include "thaw/optimize.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/optimized.h"
#include "thaw/confirm/run_check.h"

namespace thaw {

bool OptimizeReport::agrees() const { return confirm::all_agree(checks); }

OptimizeReport optimize(Model& model, const OptimizeOptions& options) {
  std::unique_ptr<ir::Model> optimized = ir::clone(ModelAccess::of(model));
  OptimizeReport report = confirm::optimize(*optimized, ModelAccess::of(model), options);
  if (report.modified() && report.agrees()) ModelAccess::owner(model) = std::move(optimized);
  return report;
}

}  // namespace thaw
