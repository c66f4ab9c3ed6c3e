// Division of polynomials. Internal to dim/.
#pragma once

#include <optional>
#include <vector>

#include "thaw/dim/expr/tables.h"

namespace thaw::dim {

// a / b as a product of factors; nullopt where b does not divide a. Empty for 1.
std::optional<std::vector<Factor>> quotient(const Monomial& a, const Monomial& b);

// True when a comes before b in the lexicographic order, which is compatible with multiplication.
bool leads(const Monomial& a, const Monomial& b);

// The term of a symbolic Dim that leads all others.
Term leading_term(const Expr& e);

}  // namespace thaw::dim
