// Evaluation that says why there is no value. Internal to dim/.
#pragma once

#include <cstdint>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

enum class Outcome : uint8_t {
  kValue,
  kUndefined,  // division by zero, or a broadcast of sizes that do not go together
  kOverflow,
  kMissing,  // a symbol without a value, or an unknown Dim
};

struct Evaluated {
  Outcome outcome = Outcome::kMissing;
  int64_t value = 0;
};

Evaluated evaluate_with_outcome(Dim d, const Assignment& values);

}  // namespace thaw::dim
