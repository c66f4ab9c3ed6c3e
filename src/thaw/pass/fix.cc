#include "thaw/pass/fix.h"

#include "thaw/pass/declare.h"
#include "thaw/pass/remove_unused.h"
#include "thaw/pass/shorten_reshape.h"
#include "thaw/pass/thaw_sizes.h"

namespace thaw::pass {

FixReport fix(ir::Model& model, const FixOptions& options) {
  FixReport report;
  // Sizes first: what they free changes what is true of the shapes. Declarations last: they describe the graph as it
  // will be.
  if (options.sizes) thaw_sizes(model, report);
  if (options.chains) shorten_reshapes(model, report);
  if (report.modified()) remove_unused(model);
  if (options.declarations) declare_truly(model, report);
  return report;
}

}  // namespace thaw::pass
