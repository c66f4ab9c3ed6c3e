// What the traces leave open. Internal to lift/.
//
// Of three traces and more: an integer that two terms explain about as well (term/enumerate.h), of which neither gives a model that
// contradicts itself. The plainer is taken, and the model gets a guard: it runs where both are the same (domain.h). Where that is at
// none of the sizes that are drawn, nothing is written.
//
// Two traces: two values are met by many formulas: 3 and 5 are ceil(h / 16), floor(w / 32) and h - 45 of some sizes. The plainest is
// taken, others as plain are tried in its place; where one of them gives another model that contradicts itself nowhere
// (contradictions.h), nothing in the traces tells which is right, and nothing is written. What ends up in no node, or is
// held by the nodes around it, is not asked for. Nor is anything written that
// gives nothing at sizes between the traces', or contradicts itself beyond them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "thaw/lift/domain/domain.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// Whether the model as it was written contradicts itself nowhere at these sizes.
using RunsAt = std::function<bool(const std::vector<int64_t>&)>;

// The integers that leave room for chance, and what else they may be at sizes of the domain. emitted: what the model computes; of three
// traces and more, what was only looked at asks for nothing. The model runs at all unseen sizes of the solver.
std::vector<OpenChoice> open_choices(const Solver& solver, std::span<const std::string> emitted,
                                     std::span<const Variable> variables, const Domain& domain, const RunsAt& runs_at);

// The attempt, with what is undecided guarded; of two traces among its unexplained, with a size at which a third would tell.
Attempt require_decided(Attempt best, const std::function<Attempt(Choices)>& attempt, const Trial& trial);

}  // namespace thaw::lifting
