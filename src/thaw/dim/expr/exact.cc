#include "thaw/dim/expr/exact.h"

#include "thaw/dim/expr/poly.h"

namespace thaw::dim {
namespace {

// The leading term among those with a coefficient other than 0; its monomial is null where there is none.
Term leading_of(std::span<const Term> terms) {
  Term best;
  for (const Term& t : terms) {
    if (t.coef != 0 && (best.monomial == nullptr || leads(*t.monomial, *best.monomial))) best = t;
  }
  return best;
}

std::optional<Dim> divide_by_constant(Dim a, int64_t divisor) {
  if (divisor == 0) return std::nullopt;
  if (auto value = a.constant()) return *value % divisor == 0 ? std::optional(Dim(*value / divisor)) : std::nullopt;
  const Expr& e = *a.expr();
  if (e.constant % divisor != 0) return std::nullopt;
  Poly result(e.scope->impl());
  result.add_constant(e.constant / divisor);
  for (const Term& t : e.terms) {
    if (t.coef % divisor != 0) return std::nullopt;
    result.add_term(t.coef / divisor, t.monomial);
  }
  return result.finish();
}

}  // namespace

std::optional<std::vector<Factor>> quotient(const Monomial& a, const Monomial& b) {
  std::vector<Factor> result;
  auto divisor = b.factors.begin();
  for (const Factor& f : a.factors) {
    int power = f.power;
    if (divisor != b.factors.end() && divisor->atom == f.atom) power -= (divisor++)->power;
    if (power < 0) return std::nullopt;
    if (power > 0) result.push_back({f.atom, power});
  }
  if (divisor != b.factors.end()) return std::nullopt;
  return result;
}

bool leads(const Monomial& a, const Monomial& b) {
  for (size_t i = 0;; ++i) {
    if (i == a.factors.size()) return false;
    if (i == b.factors.size()) return true;
    const Factor& x = a.factors[i];
    const Factor& y = b.factors[i];
    if (x.atom != y.atom) return x.atom->id < y.atom->id;
    if (x.power != y.power) return x.power > y.power;
  }
}

Term leading_term(const Expr& e) { return leading_of(e.terms); }

std::optional<Dim> exact_div(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return std::nullopt;
  if (same(a, b) && !b.is_constant(0)) return Dim(1);
  if (auto divisor = b.constant()) {
    auto result = divide_by_constant(a, *divisor);
    return result && result->is_known() ? result : std::nullopt;
  }
  if (a.is_constant(0)) return Dim(0);
  Scope::Impl* tables = shared_tables(a, b);
  if (!a.is_symbolic() || tables == nullptr) return std::nullopt;
  // Long division: the leading term of what is left must be a multiple of b's at every step.
  const Term lead = leading_term(*b.expr());
  Poly rest(*tables, a);
  Poly result(*tables);
  for (int step = 0; step <= tables->term_budget && rest.ok() && result.ok(); ++step) {
    const Term t = leading_of(rest.terms());
    if (t.monomial == nullptr) {  // a constant is left: none but 0 is a multiple of b
      if (rest.constant() != 0) return std::nullopt;
      const Dim found = result.finish();
      return found.is_known() ? std::optional(found) : std::nullopt;
    }
    const auto factors = quotient(*t.monomial, *lead.monomial);
    if (!factors || t.coef % lead.coef != 0) return std::nullopt;
    const int64_t coef = t.coef / lead.coef;
    if (factors->empty()) {
      result.add_constant(coef);
      rest.add(b, -coef);
      continue;
    }
    const Monomial* monomial = tables->monomial(*factors);
    result.add_term(coef, monomial);
    rest.add_product(monomial, b, -coef);
  }
  return std::nullopt;
}

}  // namespace thaw::dim
