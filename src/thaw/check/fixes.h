// What comes of a finding, and which commands of Thaw may fix it.
#pragma once

#include "thaw/check/rule.h"

namespace thaw::checking {

// Fills in `consequence` and `commands`, with the model's own file and, where one is named, the target. What the rule said of the finding
// itself stays; `{}` in its commands is the model's file.
void add_fix(Finding& finding, const ir::Model& model, const ops::Target* target);

}  // namespace thaw::checking
