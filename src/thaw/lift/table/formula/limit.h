// Where a table, or what else is known of the traces' sizes alone, ends. Internal to lift/.
#pragma once

#include <cstdint>

#include "thaw/dim/expr/expr.h"

namespace thaw::lifting {

// The model runs where size <= most.
struct Limit {
  enum class Of : uint8_t {
    kTable,   // that is read no further
    kWindow,  // that is filled up, but in no trace by the whole axis
    kMask,    // that leaves nothing out in any trace, or a factor that is 1
    kSign     // of what means something else below 0, where no trace has it
  };
  dim::Dim size, most;
  Of of = Of::kTable;
};

}  // namespace thaw::lifting
