// What two traces leave open. Internal to lift/.
//
// Two values are met by many formulas: 3 and 5 are ceil(h / 16), floor(w / 32) and h - 45 of some sizes. The plainest is
// taken, others as plain are tried in its place; where one of them gives another model that contradicts itself nowhere
// (contradictions.h), nothing in the traces tells which is right, and nothing is written. What ends up in no node, or is
// held by the nodes around it, is not asked for. Nor is anything written that
// gives nothing at sizes between the traces', or contradicts itself beyond them.
#pragma once

#include <functional>

#include "thaw/lift/backtrack.h"

namespace thaw::lifting {

// The integers that leave room for chance in two traces, and what else they may be.
std::vector<OpenChoice> open_choices(const Solver& solver, std::span<const Variable> variables);

// The attempt, with what is undecided among its unexplained, and a size at which a third trace would tell.
Attempt require_decided(Attempt best, const std::function<Attempt(Choices)>& attempt);

}  // namespace thaw::lifting
