// Settling on solutions that fit each other. Internal to lift/.
//
// The simplest solution of each constant is tried first. Where the lifted model then contradicts itself at sizes that
// no trace has (contradictions.h), the constants whose solution is the least plain are given their next ones, one after
// the other, as long as there is less and less to contradict.
#pragma once

#include "thaw/lift/lift.h"

namespace thaw::lift {

// Changes the first trace's model into the lifted one.
Report backtrack(std::vector<Trace>& traces, const Options& options);

}  // namespace thaw::lift
