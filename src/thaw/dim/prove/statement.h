// What dim/prove/prove.h proves, as data: a relation between two Dims. Internal to dim/.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/dim/prove/prove.h"

namespace thaw::dim {

struct Statement {
  Relation relation = Relation::kEqual;
  Dim a, b;
};

inline bool holds(Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Relation::kEqual:
      return a == b;
    case Relation::kAtMost:
      return a <= b;
    case Relation::kDivisible:
      return b == -1 || (b != 0 && a % b == 0);
    default:
      return a == b || a == 1 || b == 1;
  }
}

// What the normal forms and ranges say of a statement, for all admitted values at once.
enum class Decision : uint8_t { kAlways, kNever, kOpen };

// `facts` are known to be 0 or more.
Decision decide(const Statement& statement, const std::vector<Dim>& facts = {});

}  // namespace thaw::dim
