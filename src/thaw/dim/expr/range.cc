#include "thaw/dim/expr/range.h"

#include <numeric>
#include <optional>

#include "thaw/dim/expr/relax.h"

namespace thaw::dim {

Bounds symbol_bounds(const SymbolInfo& info) {
  Bounds bounds;
  bounds.lower = info.lower;
  if (info.upper) {
    bounds.upper = *info.upper;
  } else if (info.kind == SymbolKind::kInputDim || info.kind == SymbolKind::kDataDependent) {
    bounds.upper = std::max(kLargestDim, info.lower);
  }
  return bounds;
}

Bounds bounds_of(Dim d) {
  if (d.is_constant()) return {*d.constant(), *d.constant()};
  if (!d.is_symbolic()) return {};
  const Expr& e = *d.expr();
  const Scope::Impl& tables = e.scope->impl();
  if (e.range_epoch != tables.epoch) {
    const Bounds found = bounds_of(Poly(e.scope->impl(), d));
    e.range_lower = found.lower;
    e.range_upper = found.upper;
    e.range_epoch = tables.epoch;
  }
  return {e.range_lower, e.range_upper};
}

Bounds bounds_of(const Atom& atom, const Scope::Impl& tables) {
  if (atom.kind == AtomKind::kSymbol) return symbol_bounds(tables.symbols[static_cast<size_t>(atom.symbol)]);
  Bounds result = bounds_of(atom.operands[0]);
  if (atom.kind == AtomKind::kFloor) return floor_div(result, bounds_of(atom.operands[1]));
  for (size_t i = 1; i < atom.operands.size(); ++i) {
    const Bounds other = bounds_of(atom.operands[i]);
    switch (atom.kind) {
      case AtomKind::kMin:
        result = {std::min(result.lower, other.lower), std::min(result.upper, other.upper)};
        break;
      case AtomKind::kMax:
        result = {std::max(result.lower, other.lower), std::max(result.upper, other.upper)};
        break;
      default:  // broadcast: the greater one, unless one of them is below 1
        result = result.lower >= 1 && other.lower >= 1
                     ? Bounds{std::max(result.lower, other.lower), std::max(result.upper, other.upper)}
                     : hull(result, other);
    }
  }
  return result;
}

Bounds bounds_of(const Monomial& monomial, const Scope::Impl& tables) {
  Bounds result{1, 1};
  for (const Factor& f : monomial.factors) result = result * power(bounds_of(*f.atom, tables), f.power);
  return result;
}

Bounds bounds_of(const Poly& poly) {
  if (!poly.ok()) return {};
  Bounds result = sum_of_bounds(poly);
  if (poly.terms().size() < 2 || result.is_point()) return result;
  // Over the common factor of the coefficients, what is rounded is a whole: 6*x - 2*y >= -5 means 3*x - y >= -2.
  int64_t common = 0;
  for (const Term& t : poly.terms()) common = std::gcd(common, t.coef);
  if (common > 1) {
    Poly reduced(poly.tables());
    for (const Term& t : poly.terms()) reduced.add_term(t.coef / common, t.monomial);
    return common * bounds_of(reduced) + Bounds{poly.constant(), poly.constant()};
  }
  if (auto lower = relaxed_lower(poly)) result.lower = std::max(result.lower, *lower);
  Poly negated(poly.tables());
  negated.add(poly, -1);
  if (auto lower = relaxed_lower(negated)) result.upper = std::min(result.upper, -*lower);
  return result;
}

Bounds difference_bounds(Dim b, Dim a) {
  if (same(a, b)) return {0, 0};
  if (!a.is_symbolic() && !b.is_symbolic()) return bounds_of(b - a);
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return {};
  Poly poly(*tables, b);
  poly.add(a, -1);
  return bounds_of(poly);
}

Interval range_of(Dim d) {
  const Bounds bounds = bounds_of(d);
  Interval result;
  if (bounds.has_lower()) result.lower = bounds.lower;
  if (bounds.has_upper()) result.upper = bounds.upper;
  return result;
}

}  // namespace thaw::dim
