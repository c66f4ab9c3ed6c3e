#include "thaw/lift/lift.h"

#include "thaw/core/error.h"
#include "thaw/lift/backtrack.h"

namespace thaw::lift {

Report lift(std::vector<Trace>& traces, const Options& options) {
  if (traces.size() < 2) {
    throw Error({.what = "one trace does not tell how its constants grow",
                 .where = "thaw lift",
                 .expected = "two or more traces of one model at different sizes",
                 .next = "export the model at another size too"});
  }
  return backtrack(traces, options);
}

}  // namespace thaw::lift
