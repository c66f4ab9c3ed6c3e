// What inference says of the unknown integers: which of their proposals can stand together.
//
// An obligation of the probed graph ("the elements of this Reshape are as many as its input's") is checked in each case
// with the proposals' numbers. Alone it rules proposals out; between several unknowns it ties them into a component,
// whose combinations are enumerated from the cheapest on. Unknowns that no obligation ties are components of their own.
// Work is bounded: past the bound a component has the combinations found so far.
#pragma once

#include <string>
#include <vector>

#include "thaw/lift/onetrace/combinations.h"
#include "thaw/lift/onetrace/probe.h"

namespace thaw::lifting::onetrace {

// Unknowns that depend on each other, and the choices of proposals that inference allows.
struct Component {
  std::vector<size_t> unknowns;
  std::vector<Combination> combinations;  // of their proposals, the cheapest first; none: nothing fits
};

// An obligation that no choice meets: what stays frozen.
struct Contradiction {
  const ir::Node* node = nullptr;  // of the probed graph
  std::string text;                // "elements of a Reshape: 660 and 364 in case '1'"
};

struct Allowed {
  std::vector<Component> components;
  std::vector<Contradiction> contradictions;
  bool bounded = false;  // the search of a component was cut short
};

// `sizes` has the symbols' values in each case. Proposals that are ruled out are still counted in an Unknown's list.
Allowed allowed_choices(const Probe& probe, const std::vector<Unknown>& unknowns, const Sizes& sizes,
                        const dim::Scope& scope);

}  // namespace thaw::lifting::onetrace
