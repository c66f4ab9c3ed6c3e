// `thaw fix`: the rewrites that are safe without a reference, a pipeline of passes (rewrite/pass.h).
#pragma once

#include "thaw/rewrite/pass.h"

namespace thaw::fix {

struct FixOptions {
  bool sizes = true;         // rewrite frozen sizes
  bool chains = true;        // shorten shape chains
  bool declarations = true;  // mend declared names and shapes
};

// Changes the model in place. A model that needs nothing is left as it is, byte for byte. Declared names that are true
// stay.
rewrite::Changes fix(ir::Model& model, const FixOptions& options = {});

}  // namespace thaw::fix
