// What a proof says, and of which relation: a scope remembers both. dim/prove/ finds them.
#pragma once

#include <cstdint>
#include <string>

#include "thaw/dim/expr/scope.h"

namespace thaw::dim {

enum class Relation : uint8_t {
  kEqual,
  kAtMost,         // a <= b
  kDivisible,      // b != 0 and a % b == 0
  kBroadcastable,  // a == b or a == 1 or b == 1
};

enum class Verdict : uint8_t { kYes, kNo, kUnknown };

struct Proof {
  Verdict verdict = Verdict::kUnknown;
  Assignment counterexample;  // for kNo: the smallest one found (by the sum of distances from 0, then lexicographically
                              // by symbol)
  std::string reason;         // for kUnknown: what stood in the way
  explicit operator bool() const { return verdict == Verdict::kYes; }
};

}  // namespace thaw::dim
