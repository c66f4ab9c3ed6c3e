// From what ONNX Runtime says of a model that fails to what it lacks, or to the rule of `check` that explains it.
#pragma once

#include <string>

#include "thaw/core/error.h"

namespace thaw::verbs {

// The same error with what was expected and a next step: what else runs the model, the rule that its message points to,
// or `thaw check`.
Error with_rule(const Error& failure, const std::string& model);

}  // namespace thaw::verbs
