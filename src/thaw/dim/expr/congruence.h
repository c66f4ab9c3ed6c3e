// What is known of an expression's remainder. Internal to dim/.
#pragma once

#include <cstdint>

#include "thaw/dim/expr/poly.h"

namespace thaw::dim {

// The value is `remainder` modulo `modulus`; 0 <= remainder < modulus. modulus 1 says nothing; it always divides the
// `m` that was asked about.
struct Congruence {
  int64_t modulus = 1;
  int64_t remainder = 0;
};

// The most that the coefficients and the divisibility assumptions say about the remainder modulo m >= 1.
Congruence congruence(const Poly& poly, int64_t m);
Congruence congruence(Dim d, int64_t m);

}  // namespace thaw::dim
