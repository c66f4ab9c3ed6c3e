// What terms of one sum have to do with one another: the reductions of Poly::finish.
#include <algorithm>

#include "thaw/dim/expr/congruence.h"
#include "thaw/dim/expr/poly.h"

namespace thaw::dim {
namespace {

// Steps of the reductions of one `finish`: each makes the sum simpler, so this many are not met.
constexpr int kMaxReductions = 64;

bool has_factor(const Term& t, const Atom* atom) {
  return std::any_of(t.monomial->factors.begin(), t.monomial->factors.end(),
                     [&](const Factor& f) { return f.atom == atom; });
}

}  // namespace

void Poly::reduce() {
  if (std::none_of(terms().begin(), terms().end(), [](const Term& t) { return t.monomial->reducible; })) return;
  for (int step = 0; step < kMaxReductions && ok_; ++step) {
    if (!reduce_exact() && !reduce_halves() && !reduce_extremes() && !reduce_rest_of_half()) return;
    tidy();
  }
}

bool Poly::reduce_exact() {
  for (const Term& t : terms()) {
    if (!t.monomial->reducible) continue;
    for (const Factor& f : t.monomial->factors) {
      if (!f.atom->exact) continue;
      const int64_t m = *f.atom->operands[1].constant();
      if (t.coef / m == 0) continue;
      replace(Term(t), f, t.coef % m, f.atom->operands[0], t.coef / m);
      return true;
    }
  }
  return false;
}

bool Poly::reduce_rest_of_half() {
  const auto is_half = [](const Factor& f) {
    return f.power == 1 && f.atom->kind == AtomKind::kFloor && f.atom->operands[1].is_constant(2);
  };
  for (const Term& t : terms()) {
    const auto half = std::find_if(t.monomial->factors.begin(), t.monomial->factors.end(), is_half);
    if (half == t.monomial->factors.end() || !half->atom->operands[0].is_symbolic()) continue;
    if (congruence(half->atom->operands[0], 2).modulus == 2) continue;  // the halves are one, or one apart
    // Elsewhere in the sum, the half would meet the one that is put in its place here.
    if (std::any_of(terms().begin(), terms().end(),
                    [&](const Term& u) { return &u != &t && has_factor(u, half->atom); }))
      continue;
    const Expr& numerator = *half->atom->operands[0].expr();
    const Dim x = tables_->expression(0, numerator.terms);
    Poly whole(*tables_);
    Poly rest(*tables_);
    const Dim other[] = {x + (1 - numerator.constant), Dim(2)};
    const Dim rest_of_half = tables_->dim_of(tables_->atom(AtomKind::kFloor, other));
    if (t.monomial->factors.size() == 1) {
      whole.add(x, -t.coef);
      rest.add(rest_of_half, -t.coef);
    } else {
      std::vector<Factor> others = t.monomial->factors;
      others.erase(others.begin() + (half - t.monomial->factors.begin()));
      whole.add_product(tables_->monomial(others), x, -t.coef);
      rest.add_product(tables_->monomial(others), rest_of_half, -t.coef);
    }
    const bool present =
        whole.ok() && rest.ok() && std::all_of(whole.terms().begin(), whole.terms().end(), [&](const Term& u) {
          return std::any_of(terms().begin(), terms().end(),
                             [&](const Term& v) { return v.monomial == u.monomial && v.coef == u.coef; });
        });
    if (!present) continue;
    add_term(-t.coef, t.monomial);
    add(whole, -1);
    add(rest);
    return true;
  }
  return false;
}

bool Poly::reduce_halves() {
  for (const Term& t : terms()) {
    if (!t.monomial->reducible) continue;
    for (const Factor& f : t.monomial->factors) {
      const Atom* other = f.atom->other_half;
      if (other == nullptr || f.atom->operands[0].expr()->constant != 1) continue;
      if (std::none_of(terms().begin(), terms().end(), [&](const Term& u) { return has_factor(u, other); })) continue;
      // floor((x + 1)/2) = x - floor(x/2), in two steps: as a Dim of its own, the difference would be that half again.
      const Term half = t;
      replace(half, f, 0, other->operands[0], half.coef);
      replace({0, half.monomial}, f, 0, tables_->dim_of(other), -half.coef);
      return true;
    }
  }
  return false;
}

bool Poly::reduce_extremes() {
  const auto is_other = [](const Atom& a, const Atom& b) {
    return is_extreme_of_two(b) && a.kind != b.kind &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), same);
  };
  // The same factor but for which extreme it is.
  const auto is_counterpart = [&](const Monomial& m, const Monomial& other, const Atom* atom) {
    if (m.factors.size() != other.factors.size()) return false;
    const Factor* left = nullptr;  // of the other, what is not in the first
    for (const Factor& f : other.factors) {
      const auto own =
          std::find_if(m.factors.begin(), m.factors.end(), [&](const Factor& g) { return g.atom == f.atom; });
      if (own != m.factors.end() && own->power == f.power && own->atom != atom) continue;
      if (left != nullptr) return false;
      left = &f;
    }
    return left != nullptr && left->power == 1 && is_other(*atom, *left->atom);
  };
  for (const Term& t : terms()) {
    if (!t.monomial->reducible) continue;
    for (const Factor& f : t.monomial->factors) {
      if (f.power != 1 || !is_extreme_of_two(*f.atom)) continue;
      const auto other = std::find_if(terms().begin(), terms().end(), [&](const Term& u) {
        return (u.coef > 0) == (t.coef > 0) && is_counterpart(*t.monomial, *u.monomial, f.atom);
      });
      if (other == terms().end()) continue;
      // As often as the less frequent of both; in its place stands the sum.
      const Term more = (t.coef > 0 ? other->coef < t.coef : other->coef > t.coef) ? t : *other,
                 less = more.monomial == t.monomial ? *other : t;
      const auto factor = std::find_if(less.monomial->factors.begin(), less.monomial->factors.end(),
                                       [&](const Factor& g) { return g.atom == f.atom || is_other(*f.atom, *g.atom); });
      const std::vector<Dim>& operands = f.atom->operands;
      add_term(-less.coef, more.monomial);
      replace(less, Factor(*factor), 0, operands[0] + operands[1], less.coef);
      return true;
    }
  }
  return false;
}

void Poly::replace(Term term, const Factor& factor, int64_t kept, Dim replacement, int64_t times) {
  std::vector<Factor> others = term.monomial->factors;
  auto at = std::find_if(others.begin(), others.end(), [&](const Factor& f) { return f.atom == factor.atom; });
  if (--at->power == 0) others.erase(at);
  add_term(kept - term.coef, term.monomial);
  if (others.empty()) {
    add(replacement, times);
  } else {
    add_product(tables_->monomial(others), replacement, times);
  }
}

}  // namespace thaw::dim
