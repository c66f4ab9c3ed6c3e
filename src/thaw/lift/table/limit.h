// How far a lookup table goes. Internal to lift/.
#pragma once

#include "thaw/dim/expr/expr.h"

namespace thaw::lifting {

// A model that reads the table runs where size <= most.
struct Limit {
  dim::Dim size, most;
};

}  // namespace thaw::lifting
