// floor(a/b) for a b with symbols. b may be 0 for some admitted values: floor(a/b) is undefined there, and stays so;
// what is cancelled is known not to be 0, and what is known only to be "0 or more" counts as 1 or more, for at 0 there
// is nothing to preserve.
#include <algorithm>
#include <numeric>

#include "thaw/dim/expr/division.h"
#include "thaw/dim/expr/exact.h"
#include "thaw/dim/expr/poly.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {
namespace {

bool excludes_zero(Bounds bounds) { return bounds.lower > 0 || bounds.upper < 0; }

std::span<const Term> terms_of(Dim d) {
  return d.is_symbolic() ? std::span<const Term>(d.expr()->terms) : std::span<const Term>();
}

// The atoms that divide every term of a and b and are never 0, as a Dim; 1 for none.
Dim common_atoms(Dim a, Dim b, Scope::Impl& tables) {
  if (constant_of(a) != 0 || constant_of(b) != 0 || !a.is_symbolic()) return 1;
  std::vector<Factor> common = terms_of(b)[0].monomial->factors;
  for (std::span<const Term> terms : {terms_of(a), terms_of(b)}) {
    for (const Term& t : terms) {
      for (Factor& f : common) {
        auto it = std::find_if(t.monomial->factors.begin(), t.monomial->factors.end(),
                               [&](const Factor& g) { return g.atom == f.atom; });
        f.power = it == t.monomial->factors.end() ? 0 : std::min(f.power, it->power);
      }
    }
  }
  std::erase_if(common, [&](const Factor& f) { return f.power == 0 || !excludes_zero(bounds_of(*f.atom, tables)); });
  if (common.empty()) return 1;
  const Term term{1, tables.monomial(common)};
  return tables.expression(0, {&term, 1});
}

// The integer that divides every coefficient of b and of a; a's constant too where b may be negative.
int64_t common_content(Dim a, Dim b, bool b_not_negative) {
  int64_t common = constant_of(b);
  for (const Term& t : terms_of(b)) common = std::gcd(common, t.coef);
  for (const Term& t : terms_of(a)) common = std::gcd(common, t.coef);
  return b_not_negative ? common : std::gcd(common, constant_of(a));
}

// d / common, rounding the constant down.
Dim divide_content(Dim d, int64_t common, Scope::Impl& tables) {
  Poly result(tables);
  result.add_constant(floor_quotient(constant_of(d), common));
  for (const Term& t : terms_of(d)) result.add_term(t.coef / common, t.monomial);
  return result.finish();
}

// a = quotient * b + rest, by long division; coefficients of what b's leading monomial divides end in [0, |leading|).
struct Division {
  Dim quotient;
  Dim rest;
};

Division divide(Dim a, Dim b, Scope::Impl& tables) {
  const Term lead = leading_term(*b.expr());
  Poly quotient_sum(tables);
  Poly rest(tables, a);
  const int64_t unit = lead.coef > 0 ? lead.coef : -lead.coef;
  for (int step = 0; step < tables.term_budget && rest.ok(); ++step) {
    // The leading term among those that can still be reduced.
    Term best;
    for (const Term& t : rest.terms()) {
      if (t.coef >= 0 && t.coef < unit) continue;
      if (!quotient(*t.monomial, *lead.monomial)) continue;
      if (best.monomial == nullptr || leads(*t.monomial, *best.monomial)) best = t;
    }
    if (best.monomial == nullptr) return {quotient_sum.finish(), rest.finish()};
    const int64_t times = floor_quotient(best.coef, unit) * (lead.coef > 0 ? 1 : -1);
    const std::vector<Factor> factors = *quotient(*best.monomial, *lead.monomial);
    if (factors.empty()) {
      quotient_sum.add_constant(times);
      rest.add(b, -times);
    } else {
      const Monomial* monomial = tables.monomial(factors);
      quotient_sum.add_term(times, monomial);
      rest.add_product(monomial, b, -times);
    }
  }
  return {Dim(0), a};
}

// floor(a/b) for a that cannot be reduced any more.
Dim floor_of_reduced(Dim a, Dim b, Scope::Impl& tables) {
  const Bounds divisor = bounds_of(b);
  const bool not_negative = divisor.lower >= 0;
  if (not_negative) {
    const Bounds numerator = bounds_of(a);
    if (numerator.lower >= 0 && difference_bounds(b, a).lower >= 1) return 0;
    if (numerator.upper < 0 && difference_bounds(a, -b).lower >= 0) return -1;
  }
  if (excludes_zero(divisor)) {
    const Bounds range = floor_div(bounds_of(a), divisor);
    if (range.is_point()) return Dim(range.lower);
  }
  if (not_negative && a.is_symbolic() && a.expr()->terms.size() == 1 && a.expr()->terms[0].coef == 1) {
    const Atom* inner = single_atom(*a.expr()->terms[0].monomial);
    if (inner != nullptr && inner->kind == AtomKind::kFloor) {  // floor((floor(x/y) + k)/b) = floor((x + k*y)/(y*b))
      const Dim y = inner->operands[1];
      const Dim flat = floor_div(inner->operands[0] + a.expr()->constant * y, y * b);
      if (flat.is_known()) return flat;
    }
  }
  const Dim operands[] = {a, b};
  return tables.dim_of(tables.atom(AtomKind::kFloor, operands));
}

}  // namespace

Dim floor_by_symbolic(Dim a, Dim b) {
  Scope::Impl& tables = b.expr()->scope->impl();
  const Bounds divisor = bounds_of(b);
  const bool not_negative = divisor.lower >= 0;
  if (!not_negative && divisor.upper <= 0) return floor_div(-a, -b);
  const bool not_zero = excludes_zero(divisor);
  if (not_zero) {
    if (const auto exact = exact_div(a, b)) return *exact;
  }
  if (const int64_t common = common_content(a, b, not_negative); common > 1) {
    return floor_div(divide_content(a, common, tables), divide_content(b, common, tables));
  }
  if (const Dim common = common_atoms(a, b, tables); !common.is_constant(1)) {
    const auto numerator = exact_div(a, common);
    const auto denominator = exact_div(b, common);
    if (numerator && denominator) return floor_div(*numerator, *denominator);
  }
  const Division division = divide(a, b, tables);
  if (division.quotient.is_unknown() || division.rest.is_unknown() || (division.rest.is_constant(0) && !not_zero)) {
    return floor_of_reduced(a, b, tables);
  }
  const Dim rest = division.rest;
  if (not_negative && rest.is_symbolic() && rest.expr()->terms[0].coef < 0) {
    // floor(-p/b) = -floor((p - 1)/b) - 1 for b >= 1
    const Division again = divide(-rest - 1, b, tables);
    // Without its constant, the numerator may have something in common with b; it is not turned round a second time.
    const bool negative = again.rest.is_symbolic() && again.rest.expr()->terms[0].coef < 0;
    const Dim inner = negative ? floor_of_reduced(again.rest, b, tables) : floor_div(again.rest, b);
    return division.quotient - 1 - again.quotient - inner;
  }
  return division.quotient + floor_of_reduced(rest, b, tables);
}

}  // namespace thaw::dim
