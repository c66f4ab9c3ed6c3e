#include "thaw/batch/batch.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/samples.h"

namespace thaw {

bool BatchReport::agrees() const { return unchecked.empty() && confirm::all_agree(checks); }

BatchReport batch(Model& model, const BatchOptions& options) {
  std::unique_ptr<ir::Model> batched = ir::clone(ModelAccess::begin(model));
  BatchReport report = batching::batch(*batched, options);
  if (options.check) {
    confirm::BatchCheck check = confirm::compare_with_samples(*batched, ModelAccess::of(model), options, options.feeds);
    report.checks = std::move(check.runs);
    report.unchecked = std::move(check.reason);
  }
  if (report.agrees()) ModelAccess::owner(model) = std::move(batched);
  return report;
}

}  // namespace thaw
