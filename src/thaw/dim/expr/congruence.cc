#include "thaw/dim/expr/congruence.h"

#include <numeric>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/wide.h"

namespace thaw::dim {
namespace {

int64_t multiply_modulo(int64_t a, int64_t b, int64_t m) {
  const Wide product = static_cast<Wide>(floor_remainder(a, m)) * floor_remainder(b, m);
  return static_cast<int64_t>(product % m);
}

// The product of two values known modulo divisors of m. (x mod a)(y mod b): x*y is r*s modulo gcd(a*b, a*s, b*r).
Congruence multiply(Congruence x, Congruence y, int64_t m) {
  const int64_t first = multiply_modulo(x.modulus, y.remainder, m);
  const int64_t second = multiply_modulo(y.modulus, x.remainder, m);
  const int64_t both = multiply_modulo(x.modulus, y.modulus, m);
  const int64_t modulus = std::gcd(std::gcd(first, second), std::gcd(both, m));
  return {modulus, multiply_modulo(x.remainder, y.remainder, modulus)};
}

Congruence congruence_of(const Monomial& monomial, const Scope::Impl& tables, int64_t m) {
  Congruence result{m, 1 % m};
  for (const Factor& f : monomial.factors) {
    Congruence factor;
    if (f.atom->kind == AtomKind::kSymbol) {
      const SymbolInfo& info = tables.symbols[static_cast<size_t>(f.atom->symbol)];
      factor.modulus = std::gcd(info.modulus, m);
      factor.remainder = info.remainder % factor.modulus;
    }
    for (int i = 0; i < f.power; ++i) result = multiply(result, factor, m);
  }
  return result;
}

Congruence congruence_of(int64_t constant, std::span<const Term> terms, const Scope::Impl& tables, int64_t m) {
  Congruence total{m, floor_remainder(constant, m)};
  for (const Term& t : terms) {
    const Congruence value = multiply({m, floor_remainder(t.coef, m)}, congruence_of(*t.monomial, tables, m), m);
    total.modulus = std::gcd(total.modulus, value.modulus);
    total.remainder = static_cast<int64_t>((static_cast<Wide>(total.remainder) + value.remainder) % total.modulus);
    if (total.modulus == 1) break;
  }
  return total;
}

}  // namespace

Congruence congruence(const Poly& poly, int64_t m) {
  return poly.ok() ? congruence_of(poly.constant(), poly.terms(), poly.tables(), m) : Congruence{};
}

Congruence congruence(Dim d, int64_t m) {
  if (auto value = d.constant()) return {m, floor_remainder(*value, m)};
  if (!d.is_symbolic()) return {};
  return congruence_of(d.expr()->constant, d.expr()->terms, d.expr()->scope->impl(), m);
}

}  // namespace thaw::dim
