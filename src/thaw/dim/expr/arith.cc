// Sums and products.
#include <algorithm>
#include <array>
#include <vector>

#include "thaw/dim/expr/poly.h"

namespace thaw::dim {

bool same(Dim a, Dim b) {
  if (a.is_symbolic() || b.is_symbolic()) return a.expr() == b.expr();
  return a.is_known() && a.constant() == b.constant();
}

Dim operator+(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (!a.is_symbolic() && !b.is_symbolic()) {
    int64_t value = 0;
    return __builtin_add_overflow(*a.constant(), *b.constant(), &value) ? Dim() : Dim(value);
  }
  if (a.is_constant(0)) return b;
  if (b.is_constant(0)) return a;
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  Poly poly(*tables, a);
  poly.add(b);
  return poly.finish();
}

Dim operator-(Dim a) {
  if (!a.is_symbolic()) return a.is_unknown() ? a : Dim(-*a.constant());
  Poly poly(a.expr()->scope->impl());
  poly.add(a, -1);
  return poly.finish();
}

Dim operator-(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (same(a, b)) return 0;
  if (!a.is_symbolic() && !b.is_symbolic()) {
    int64_t value = 0;
    return __builtin_sub_overflow(*a.constant(), *b.constant(), &value) ? Dim() : Dim(value);
  }
  if (b.is_constant(0)) return a;
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  Poly poly(*tables, a);
  poly.add(b, -1);
  return poly.finish();
}

Dim operator*(Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (!a.is_symbolic() && !b.is_symbolic()) {
    int64_t value = 0;
    return __builtin_mul_overflow(*a.constant(), *b.constant(), &value) ? Dim() : Dim(value);
  }
  if (a.is_constant(0) || b.is_constant(0)) return 0;
  if (a.is_constant(1)) return b;
  if (b.is_constant(1)) return a;
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  Poly poly(*tables);
  poly.add_product(a, b);
  return poly.finish();
}

Dim product(std::span<const Dim> dims) {
  // Constants first: one 0 decides, and small factors do not overflow on the way.
  Dim constants = 1;
  for (Dim d : dims) {
    if (d.is_unknown()) return Dim();
    if (d.is_constant(0)) return 0;
    if (d.is_constant()) constants = constants * d;
  }
  Dim result = constants;
  for (Dim d : dims) {
    if (d.is_symbolic()) result = result * d;
  }
  return result;
}

Dim sum(std::span<const Dim> dims) {
  auto symbolic = std::find_if(dims.begin(), dims.end(), [](Dim d) { return d.is_symbolic(); });
  if (symbolic == dims.end()) {
    Dim result = 0;
    for (Dim d : dims) result = result + d;
    return result;
  }
  Poly poly(symbolic->expr()->scope->impl());
  for (Dim d : dims) {
    if (d.is_symbolic() && d.expr()->scope != symbolic->expr()->scope) return Dim();
    poly.add(d);
  }
  return poly.finish();
}

}  // namespace thaw::dim
