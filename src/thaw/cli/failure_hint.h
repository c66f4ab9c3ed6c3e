// From what ONNX Runtime says of a model that fails to the rule of `check` that explains it.
#pragma once

#include <string>

#include "thaw/core/error.h"

namespace thaw::cli {

// The same error with a next step: the rule that its message points to, or `thaw check`.
Error with_rule(const Error& failure, const std::string& model);

}  // namespace thaw::cli
