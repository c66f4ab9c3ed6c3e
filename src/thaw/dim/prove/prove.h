// Proving statements about Dims under the assumptions of their Scope.
//
// Sound both ways: kYes holds for every value the assumptions admit (ranges, remainders and the facts of the scope); kNo comes with values (a counterexample) that the
// assumptions admit and that break the statement, evaluated, not guessed; kUnknown says why in `reason`. Work is
// bounded, a proof's and by the scope's budget that of all of them. Method: normal form of the difference, after replacing each symbol with a divisibility assumption s = m*k +
// r; interval arithmetic; case splits on min/max/broadcast and floor remainders up to a budget; then a search for a
// counterexample over small, boundary and random admitted values (exhaustive, hence a proof, where the domain is small
// enough).
#pragma once

#include <optional>

#include "thaw/dim/expr/proof.h"

namespace thaw::dim {

Proof prove(Relation relation, Dim a, Dim b);
Proof prove_at_most(Dim a, Dim b);    // a <= b
Proof prove_divisible(Dim a, Dim b);  // b != 0 and a % b == 0

// Sizes at which a statement fails whatever value its data-dependent symbols have, found from those of a counterexample
// on: nobody chooses what a NonZero counts, so that a counterexample that does shows nothing. nullopt where none was
// found.
std::optional<Assignment> breaks_whatever(Relation relation, Dim a, Dim b, const Assignment& counterexample);

// Values at which all facts of the scope hold, for the symbols that they speak of; nullopt where none were found.
std::optional<Assignment> admitted_sizes(const Scope& scope);

}  // namespace thaw::dim
