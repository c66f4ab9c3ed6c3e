#include "thaw/dim/prove.h"

#include "thaw/dim/congruence.h"
#include "thaw/dim/range.h"

namespace thaw::dim {
namespace {

Proof answer(bool proven) {
  Proof proof;
  if (proven) {
    proof.verdict = Verdict::kYes;
  } else {
    proof.reason = "neither the normal form nor the ranges decide it";
  }
  return proof;
}

}  // namespace

Proof prove_equal(Dim a, Dim b) { return answer(same(a, b)); }

Proof prove_at_most(Dim a, Dim b) { return answer(a.is_known() && b.is_known() && difference_bounds(b, a).lower >= 0); }

Proof prove_divisible(Dim a, Dim b) {
  const auto m = b.constant();
  if (m && *m > 0 && a.is_known()) {
    const Congruence known = congruence(a, *m);
    return answer(known.modulus == *m && known.remainder == 0);
  }
  return answer(exact_div(a, b).has_value() && !bounds_of(b).contains(0));
}

Proof prove_broadcastable(Dim a, Dim b) { return answer(same(a, b) || a.is_constant(1) || b.is_constant(1)); }

}  // namespace thaw::dim
