// What goes wrong with one unit is said of it, and the others are measured all the same.
#pragma once

#include "thaw/core/error.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

template <typename Work>
void attempt(UnitError& error, const Work& work) {
  try {
    work();
  } catch (const Error& failed) {
    error.status = UnitStatus::kFailed;
    error.why = failed.what();
  }
}

}  // namespace thaw::measuring
