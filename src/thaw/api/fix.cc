#include "thaw/fix/fix.h"

#include <utility>

#include "thaw/api/access.h"
#include "thaw/lift/onetrace/thaw_trace.h"

namespace thaw {

FixReport fix(Model& model, const FixOptions& options) {
  rewrite::Changes changes = fixing::fix(ModelAccess::of(model), options);
  return {std::move(changes.made), std::move(changes.left)};
}

FixReferenceReport fix_with_reference(Model& model, const std::filesystem::path& reference,
                                      const FixReferenceOptions& options) {
  return lifting::onetrace::thaw_trace(ModelAccess::owner(model), reference, options);
}

}  // namespace thaw
