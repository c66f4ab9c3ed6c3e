// Choosing solutions that fit each other. Internal to lift/.
//
// The simplest solution of each constant is tried first. Where the lifted model then contradicts itself at sizes that
// no trace has (contradictions.h, proof.h), as few as can be are taken otherwise, so that what its nodes need of them
// holds there (unknowns/agree.h), as long as there is less and less to contradict.
#pragma once

#include <functional>

#include "thaw/lift/unknowns/agree.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// The best attempt; its report says what was chosen otherwise and what is left to contradict.
Attempt backtrack(const std::function<Attempt(Choices)>& attempt);

// The choices, with some integers of these conditions taken otherwise.
Choices with_retaken(Choices choices, const Conditions& conditions, const Agreed& agreed);

// Adds to the report what was chosen otherwise and what is left to contradict.
void note_choices(Attempt& best);

}  // namespace thaw::lifting
