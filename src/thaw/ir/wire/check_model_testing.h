// The official checker, for tests.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// What it says against a model; empty when it is valid. Weights are not read: large initializers are shown to it as
// inputs. (It stops at the first fault, so there is at most one message.)
std::vector<std::string> check_model(const Model& model);

}  // namespace thaw::ir
