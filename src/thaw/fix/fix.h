// `thaw fix`: the rewrites that are safe without a reference, a pipeline of passes (rewrite/pass.h).
#pragma once

#include "thaw/fix.h"
#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

using thaw::FixOptions;

// Changes the model in place. A model that needs nothing is left as it is, byte for byte. Declared names that are true
// stay.
rewrite::Changes fix(ir::Model& model, const FixOptions& options = {});

}  // namespace thaw::fixing
