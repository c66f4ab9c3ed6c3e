// floor(a/m) for a constant m. The normal form of what stays under the floor:
//   - coefficients and m have no common factor; each coefficient lies in (-m/2, m/2], the constant in [0, m);
//   - the first coefficient that is not m/2 is positive: floor(-x/m) = -floor((x + m - 1)/m). For m = 2, where there is
//     none, both floor(x/2) and floor((x + 1)/2) are kept, for products of them to stay products (see Poly::finish);
//   - where assumptions determine the remainder of the numerator modulo a factor g of m, the constant is the least of the g
//     that evaluate to the same value;
//   - no floor alone inside: floor((floor(a/b) + r)/m) = floor((a + b*r)/(b*m)); no min or max alone inside,
//     for floor is monotonic:
//     floor(min(a, b)/m) = min(floor(a/m), floor(b/m)).
#include <numeric>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/congruence.h"
#include "thaw/dim/expr/division.h"
#include "thaw/dim/expr/poly.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {
namespace {

// coef = quotient * m + remainder, remainder in (-m/2, m/2]. quotient * m may be past the integers.
struct Nearest {
  int64_t quotient, remainder;
};

Nearest divide_nearest(int64_t coef, int64_t m) {
  const int64_t quotient = floor_quotient(coef, m), remainder = floor_remainder(coef, m);
  return remainder > m / 2 ? Nearest{quotient + 1, remainder - m} : Nearest{quotient, remainder};
}

// The numerator, split: value = floor((inside)/m) * sign + outside.
struct SplitNumerator {
  Poly outside;
  Poly inside;
  int sign = 1;
};

// The coefficients of the part of `a` over the common factor, brought into (-m/2, m/2], what is taken away going
// outside.
SplitNumerator split_numerator(const Expr& a, int64_t common, int64_t m) {
  Scope::Impl& tables = a.scope->impl();
  SplitNumerator result{Poly(tables), Poly(tables)};
  bool decided = false;
  for (const Term& t : a.terms) {
    const int64_t coef = t.coef / common;
    const auto [quotient, remainder] = divide_nearest(coef, m);
    result.outside.add_term(quotient, t.monomial);
    if (remainder == 0) continue;
    if (!decided && (remainder * 2 != m || m == 2)) {
      decided = true;
      if (m == 2 ? coef < 0 : remainder < 0) result.sign = -1;
    }
    result.inside.add_term(remainder, t.monomial);
  }
  result.inside.add_constant(floor_quotient(a.constant, common));
  if (result.sign > 0) return result;
  Poly negated(tables);
  for (const Term& t : result.inside.terms()) {
    const bool half = t.coef * 2 == m;  // -m/2 is m/2 with one m less
    negated.add_term(half ? t.coef : -t.coef, t.monomial);
    if (half) result.outside.add_term(1, t.monomial);
  }
  negated.add_constant(m - 1);
  negated.add_constant(-result.inside.constant());
  result.inside = negated;
  return result;
}

// Brings the constant into [0, m), and to the least that evaluates to the same value; returns what the floor loses by it.
int64_t reduce_constant(Poly& inside, int64_t m) {
  int64_t carry = floor_quotient(inside.constant(), m);
  if (carry < 0) {  // in two steps, each of which fits
    inside.add_constant(m);
    inside.add_constant(-(carry + 1) * m);
  } else {
    inside.add_constant(-carry * m);
  }
  const Congruence known = congruence(inside, m);
  if (known.modulus == 1) return carry;
  // Every constant in [first, first + modulus) has the same floor.
  const int64_t constant = inside.constant();
  const int64_t first = constant - known.remainder;
  if (first <= 0) {
    inside.add_constant(-constant);
  } else if (first + known.modulus > m) {
    inside.add_constant(-constant);
    ++carry;
  } else {
    inside.add_constant(first - constant);
  }
  return carry;
}

// The one term with an atom other than a symbol; null where there is none or more than one.
const Term* only_composite(std::span<const Term> terms) {
  const Term* found = nullptr;
  for (const Term& t : terms) {
    if (t.monomial->depth == 0) continue;
    if (found != nullptr) return nullptr;
    found = &t;
  }
  return found;
}

// floor((floor(a/b) + r)/m) as one floor; unknown where it is not of that form or does not fit.
Dim flatten_nested(const Poly& inside, int64_t m) {
  const Term* composite = only_composite(inside.terms());
  if (composite == nullptr || (composite->coef != 1 && composite->coef != -1)) return Dim();
  const Atom* atom = single_atom(*composite->monomial);
  if (atom == nullptr || atom->kind != AtomKind::kFloor) return Dim();
  const Dim divisor = atom->operands[1];
  if (divisor.is_symbolic() && inside.terms().size() > 1) return Dim();
  // For -floor(a/b): floor((r - f)/m) = -floor((f - r + m - 1)/m).
  const int64_t sign = composite->coef;
  Poly rest(inside.tables());
  rest.add(inside, sign);
  rest.add_term(-1, composite->monomial);
  if (sign < 0) rest.add_constant(m - 1);
  const Dim numerator = atom->operands[0] + divisor * rest.finish();
  const Dim flat = floor_div(numerator, divisor * Dim(m));
  return sign < 0 ? -flat : flat;
}

// floor((c*min(a, b) + r)/m) with the floor inside; unknown where it is not of that form or does not fit.
Dim distribute(const Poly& inside, int64_t m) {
  if (inside.terms().size() != 1) return Dim();
  const Term& t = inside.terms()[0];
  const Atom* atom = single_atom(*t.monomial);
  if (atom == nullptr || (atom->kind != AtomKind::kMin && atom->kind != AtomKind::kMax)) return Dim();
  const bool least = (atom->kind == AtomKind::kMin) == (t.coef > 0);
  Dim result;
  for (size_t i = 0; i < atom->operands.size(); ++i) {
    const Dim value = floor_div(t.coef * atom->operands[i] + inside.constant(), Dim(m));
    result = i == 0 ? value : least ? min(result, value) : max(result, value);
  }
  return result;
}

// inside: settled, with at least one term.
Dim floor_of_settled(Poly& inside, int64_t m) {
  if (const Dim flat = flatten_nested(inside, m); flat.is_known()) return flat;
  if (const Dim distributed = distribute(inside, m); distributed.is_known()) return distributed;
  const Bounds range = bounds_of(inside);
  if (range.has_lower() && range.has_upper()) {
    const int64_t low = floor_quotient(range.lower, m);
    if (low == floor_quotient(range.upper, m)) return Dim(low);
  }
  const Dim operands[] = {inside.finish(), Dim(m)};
  Scope::Impl& tables = inside.tables();
  return tables.dim_of(tables.atom(AtomKind::kFloor, operands));
}

}  // namespace

Dim floor_by_constant(Dim a, int64_t m) {
  const Expr& e = *a.expr();
  int64_t common = m;
  for (const Term& t : e.terms) common = std::gcd(common, t.coef);
  m /= common;
  SplitNumerator parts = split_numerator(e, common, m);
  if (!parts.inside.ok() || !parts.outside.ok()) return Dim();
  if (m == 1) {
    parts.outside.add(parts.inside);
    return parts.outside.finish();
  }
  const int64_t carry = reduce_constant(parts.inside, m);
  parts.outside.add_constant(parts.sign * carry);
  if (parts.inside.terms().empty()) return parts.outside.finish();
  parts.outside.add(floor_of_settled(parts.inside, m), parts.sign);
  return parts.outside.finish();
}

}  // namespace thaw::dim
