// What comes of a finding, and which commands of Thaw may mend it.
#pragma once

#include "thaw/check/rule.h"

namespace thaw::checking {

// Fills in `happens` and `commands`, with the model's own file and, where one is named, the target.
void add_cures(Finding& finding, const ir::Model& model, const ops::Target* target);

}  // namespace thaw::checking
