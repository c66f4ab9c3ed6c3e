#include "thaw/pin.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/pinned.h"
#include "thaw/confirm/run_check.h"

namespace thaw {

bool PinReport::agrees() const { return confirm::all_agree(checks); }

PinReport pin(Model& model, const PinOptions& options) {
  std::unique_ptr<ir::Model> pinned = ir::clone(ModelAccess::begin(model));
  PinReport report = confirm::pin(*pinned, ModelAccess::of(model), options);
  if (report.agrees()) ModelAccess::owner(model) = std::move(pinned);
  return report;
}

}  // namespace thaw
