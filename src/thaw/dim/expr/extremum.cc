// min and max. The normal form:
//   - flat: min(min(a, b) + 1, c) = min(a + 1, b + 1, c), and -max(a, b) inside a min is min(-a, -b);
//   - operands that another is known never to exceed (for max: never to be below) are gone;
//   - terms that all operands share, the constant of the first operand with symbols, and the common factor of all
//     coefficients stand outside: min(2*n + 3, 7) = 2*min(n, 2) + 3;
//   - not all leading coefficients are negative: min(-a, -b) = -max(a, b).
#include <algorithm>
#include <numeric>
#include <vector>

#include "thaw/dim/expr/poly.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {
namespace {

// Operands past this number are not compared in pairs.
constexpr size_t kMaxCompared = 12;

AtomKind opposite(AtomKind kind) { return kind == AtomKind::kMin ? AtomKind::kMax : AtomKind::kMin; }

// An order that adding a constant to all operands does not change: by terms, constants last.
bool precedes(Dim a, Dim b) {
  if (!a.is_symbolic() || !b.is_symbolic()) {
    return a.is_symbolic() || (!b.is_symbolic() && constant_of(a) < constant_of(b));
  }
  const auto& x = a.expr()->terms;
  const auto& y = b.expr()->terms;
  for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (x[i].monomial != y[i].monomial) return x[i].monomial->id < y[i].monomial->id;
    if (x[i].coef != y[i].coef) return x[i].coef < y[i].coef;
  }
  if (x.size() != y.size()) return x.size() < y.size();
  return constant_of(a) < constant_of(b);
}

// Adds d, or the operands it is made of, to the operands of a min or max.
void flatten_extremum(AtomKind kind, Dim d, std::vector<Dim>& operands) {
  if (d.is_symbolic()) {
    const Term* inner = nullptr;
    int candidates = 0;
    for (const Term& t : d.expr()->terms) {
      const Atom* atom = single_atom(*t.monomial);
      if (atom == nullptr || atom->kind != (t.coef > 0 ? kind : opposite(kind))) continue;
      inner = &t;
      ++candidates;
    }
    if (candidates == 1) {
      const Dim rest = d - [&] {
        Poly term(d.expr()->scope->impl());
        term.add_term(inner->coef, inner->monomial);
        return term.finish();
      }();
      std::vector<Dim> parts;
      for (Dim operand : single_atom(*inner->monomial)->operands) parts.push_back(rest + inner->coef * operand);
      if (std::all_of(parts.begin(), parts.end(), [](Dim part) { return part.is_known(); })) {
        operands.insert(operands.end(), parts.begin(), parts.end());
        return;
      }
    }
  }
  operands.push_back(d);
}

// Removes what another operand makes superfluous.
void drop_dominated(AtomKind kind, std::vector<Dim>& operands) {
  std::sort(operands.begin(), operands.end(), precedes);
  operands.erase(std::unique(operands.begin(), operands.end(), same), operands.end());
  if (operands.size() > kMaxCompared) return;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < operands.size();) {
      if (i == j) {
        ++j;
        continue;
      }
      const Bounds above = difference_bounds(operands[j], operands[i]);  // j - i
      const bool superfluous = kind == AtomKind::kMin ? above.lower >= 0 : above.upper <= 0;
      if (!superfluous) {
        ++j;
        continue;
      }
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) --i;
    }
  }
}

// The terms that every operand has with the same coefficient.
Dim shared_terms(const std::vector<Dim>& operands, Scope::Impl& tables) {
  Poly shared(tables);
  if (!std::all_of(operands.begin(), operands.end(), [](Dim d) { return d.is_symbolic(); })) return 0;
  for (const Term& t : operands[0].expr()->terms) {
    const bool everywhere = std::all_of(operands.begin() + 1, operands.end(), [&](Dim d) {
      const auto& terms = d.expr()->terms;
      return std::any_of(terms.begin(), terms.end(),
                         [&](const Term& u) { return u.monomial == t.monomial && u.coef == t.coef; });
    });
    if (everywhere) shared.add_term(t.coef, t.monomial);
  }
  return shared.finish();
}

Dim normal_extremum(AtomKind kind, Dim a, Dim b, Scope::Impl& tables) {
  std::vector<Dim> operands;
  flatten_extremum(kind, a, operands);
  flatten_extremum(kind, b, operands);
  drop_dominated(kind, operands);
  if (operands.size() == 1) return operands[0];

  Dim outside = shared_terms(operands, tables);
  if (!outside.is_constant(0)) {
    for (Dim& d : operands) d = d - outside;
    std::sort(operands.begin(), operands.end(), precedes);
  }
  const Dim shift = constant_of(operands[0]);
  outside = outside + shift;
  int64_t common = 0;
  bool negative = true;
  for (Dim& d : operands) {
    d = d - shift;
    if (d.is_unknown()) return d;
    common = std::gcd(common, constant_of(d));
    if (!d.is_symbolic()) continue;
    for (const Term& t : d.expr()->terms) common = std::gcd(common, t.coef);
    negative &= d.expr()->terms[0].coef < 0;
  }
  const int64_t factor = negative ? -common : common;
  if (factor != 1) {
    for (Dim& d : operands) {
      const auto part = exact_div(d, Dim(factor));
      if (!part) return {};  // an expression past the limits of its scope
      d = *part;
    }
    std::sort(operands.begin(), operands.end(), precedes);
  }
  const Atom* atom = tables.atom(negative ? opposite(kind) : kind, operands);
  return outside + factor * tables.dim_of(atom);
}

Dim extremum(AtomKind kind, Op op, Dim a, Dim b) {
  if (a.is_unknown() || b.is_unknown()) return Dim();
  if (same(a, b)) return a;
  if (!a.is_symbolic() && !b.is_symbolic()) {
    const int64_t x = *a.constant();
    const int64_t y = *b.constant();
    return Dim(kind == AtomKind::kMin ? std::min(x, y) : std::max(x, y));
  }
  Scope::Impl* tables = shared_tables(a, b);
  if (tables == nullptr) return Dim();
  return remember(*tables, op, a, b, [&] { return normal_extremum(kind, a, b, *tables); });
}

}  // namespace

Dim min(Dim a, Dim b) { return extremum(AtomKind::kMin, Op::kMin, a, b); }
Dim max(Dim a, Dim b) { return extremum(AtomKind::kMax, Op::kMax, a, b); }

}  // namespace thaw::dim
