// A difference that is not there where both sides run as they are written is none of theirs: ONNX Runtime joins other nodes in the one
// than in the other, and rounds otherwise there. Where a model takes the best of scores that are next to the same, or adds -10000 to
// what is masked, that can be any number.
#pragma once

#include <functional>

#include "thaw/confirm/run_check.h"
#include "thaw/run.h"

namespace thaw::confirm {

// Without ONNX Runtime's optimizations, for a run or two.
SessionOptions as_it_is_written();

// Where a check's numbers differ, and only they: `compare` adds to another what comes of both sides as they are written, and that
// takes its place where it agrees. What `compare` throws leaves the check as it is.
void reconsider(RunCheck& check, const std::function<void(RunCheck& again)>& compare);

}  // namespace thaw::confirm
