// A size of the inputs that cannot move, and the location that holds it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "thaw/frozen/frozen.h"
#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

struct Bound {
  std::string size;  // the symbol, by its name
  Change left;       // the location, the rule of `check` that finds it, and why it holds the size
};

// The rule of `check` that finds sites of this role.
std::string code_of(frozen::FrozenRole role);
// Where a site is: its constant, else its node.
std::string location_of(const frozen::FrozenSite& site);

// The sizes of the inputs that an expression is made of, by name. A size known only at run time is none: no axis of an
// input is kept from moving by it.
std::set<std::string> sizes_in(dim::Dim expression);
// Those of all that a site should hold.
std::set<std::string> sizes_in(const frozen::FrozenSite& site);

}  // namespace thaw::fixing
