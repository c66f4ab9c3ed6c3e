// The roundings in a size.
#pragma once

#include "thaw/dim/expr/expr.h"

namespace thaw::lifting {

// Calls see(const dim::Atom&) with each floor, those inside of others first.
template <typename See>
void for_each_floor(dim::Dim size, const See& see) {
  if (!size.is_symbolic()) return;
  for (const dim::Term& term : size.expr()->terms)
    for (const dim::Factor& factor : term.monomial->factors) {
      for (const dim::Dim operand : factor.atom->operands) for_each_floor(operand, see);
      if (factor.atom->kind == dim::AtomKind::kFloor) see(*factor.atom);
    }
}

}  // namespace thaw::lifting
