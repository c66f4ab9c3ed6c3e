#include <algorithm>
#include <numeric>

#include "thaw/dim/expr/congruence.h"
#include "thaw/dim/expr/range.h"
#include "thaw/dim/prove/statement.h"

namespace thaw::dim {
namespace {

// What divides every coefficient.
int64_t common_factor(Dim d) {
  int64_t common = 0;
  if (!d.is_symbolic()) return 1;
  for (const Term& term : d.expr()->terms) common = std::gcd(common, term.coef);
  return common;
}

// True where the normal form or the range, after taking a fact away, shows that d >= 0: d - fact >= 0 and fact >= 0.
bool never_negative(Dim d, const std::vector<Dim>& facts) {
  if (d.is_unknown()) return false;
  if (bounds_of(d).lower >= 0) return true;
  if (facts.empty()) return false;
  const int64_t common = common_factor(d);
  for (const Dim fact : facts) {
    for (const int64_t times : {int64_t{1}, int64_t{2}, int64_t{4}, int64_t{8}, common}) {
      const Dim rest = d - times * fact;
      if (rest.is_known() && bounds_of(rest).lower >= 0) return true;
    }
  }
  return false;
}

bool always_equal(Dim a, Dim b, const std::vector<Dim>& facts) {
  const Dim difference = a - b;
  if (difference.is_unknown()) return same(a, b);
  const Bounds range = bounds_of(difference);
  if (range.lower == 0 && range.upper == 0) return true;
  return !facts.empty() && never_negative(difference, facts) && never_negative(-difference, facts);
}

bool never_equal(Dim a, Dim b, const std::vector<Dim>& facts) {
  if (!difference_bounds(a, b).contains(0)) return true;
  return !facts.empty() && (never_negative(a - b - 1, facts) || never_negative(b - a - 1, facts));
}

// What is as a is where some facts hold: those that are 0, times what takes a term of a away.
std::vector<Dim> as_given(Dim a, const std::vector<Dim>& facts) {
  std::vector<Dim> equal;
  if (!a.is_symbolic()) return equal;
  for (const Dim fact : facts) {
    const bool is_zero =
        fact.is_symbolic() && std::ranges::any_of(facts, [&](Dim other) { return same(other, -fact); });
    if (!is_zero) continue;
    for (const Term& term : fact.expr()->terms) {
      for (const Term& of_a : a.expr()->terms) {
        if (of_a.monomial != term.monomial || of_a.coef % term.coef != 0) continue;
        if (const Dim rest = a - of_a.coef / term.coef * fact; rest.is_known()) equal.push_back(rest);
      }
    }
  }
  return equal;
}

Decision decide_divisible(Dim a, Dim b, const std::vector<Dim>& facts) {
  if (auto m = b.constant()) {
    if (*m == 0) return Decision::kNever;
    for (const Dim equal : as_given(a, facts)) {
      const Congruence given = congruence(equal, *m < 0 ? -*m : *m);
      if (given.remainder == 0 && given.modulus == (*m < 0 ? -*m : *m)) return Decision::kAlways;
    }
    const Congruence known = congruence(a, *m < 0 ? -*m : *m);
    if (known.remainder != 0) return Decision::kNever;
    return known.modulus == (*m < 0 ? -*m : *m) ? Decision::kAlways : Decision::kOpen;
  }
  const Bounds divisor = bounds_of(b);
  if (divisor.is_point() && divisor.lower == 0) return Decision::kNever;
  if (divisor.contains(0)) return Decision::kOpen;
  const Dim remainder = mod(a, b);
  if (remainder.is_constant(0) || exact_div(a, b)) return Decision::kAlways;
  return remainder.is_known() && !bounds_of(remainder).contains(0) ? Decision::kNever : Decision::kOpen;
}

}  // namespace

Decision decide(const Statement& statement, const std::vector<Dim>& facts) {
  const Dim a = statement.a;
  const Dim b = statement.b;
  switch (statement.relation) {
    case Relation::kEqual:
      if (always_equal(a, b, facts)) return Decision::kAlways;
      return never_equal(a, b, facts) ? Decision::kNever : Decision::kOpen;
    case Relation::kAtMost:
      if (difference_bounds(b, a).lower >= 0 || never_negative(b - a, facts)) return Decision::kAlways;
      return never_negative(a - b - 1, facts) ? Decision::kNever : Decision::kOpen;
    case Relation::kDivisible:
      return decide_divisible(a, b, facts);
    default:
      if (always_equal(a, b, facts) || always_equal(a, 1, facts) || always_equal(b, 1, facts)) return Decision::kAlways;
      return never_equal(a, b, facts) && never_equal(a, 1, facts) && never_equal(b, 1, facts) ? Decision::kNever
                                                                                              : Decision::kOpen;
  }
}

}  // namespace thaw::dim
