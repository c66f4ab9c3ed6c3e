#include "thaw/convert.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/confirm/converted.h"

namespace thaw {

ConvertReport convert(Model& model, const ConvertOptions& options) {
  std::unique_ptr<ir::Model> converted = ir::clone(ModelAccess::of(model));
  ConvertReport report = confirm::convert(*converted, ModelAccess::of(model), options);
  if (report.runs()) ModelAccess::owner(model) = std::move(converted);
  return report;
}

}  // namespace thaw
