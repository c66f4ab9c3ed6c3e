#include "thaw/split.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/divided.h"
#include "thaw/confirm/run_check.h"
#include "thaw/split/split.h"

namespace thaw {

bool SplitReport::agrees() const { return confirm::all_agree(checks); }

Split split(const Model& model, const SplitOptions& options) {
  confirm::Divided divided = confirm::split(ModelAccess::begin(model), options);
  Split result{.parts = {}, .report = std::move(divided.report)};
  for (splitting::Part& part : divided.parts) result.parts.push_back(ModelAccess::make(std::move(part.model)));
  return result;
}

std::vector<CutPoint> cut_points(const Model& model, const NamedSizes& sizes) {
  return splitting::cut_points(ModelAccess::begin(model), sizes);
}

}  // namespace thaw
