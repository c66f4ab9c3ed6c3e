// What goes wrong with one unit is said of it, and the others are measured all the same.
#pragma once

#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Whether it went well.
template <typename Work>
bool attempt(UnitError& error, const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& failed) {
    if (CallClock::is_over()) throw;
    error.status = UnitStatus::kFailed;
    error.why = failed.what();
    return false;
  }
}

}  // namespace thaw::measuring
