#include "thaw/dim/poly.h"

#include <algorithm>
#include <limits>

#include "thaw/dim/congruence.h"

namespace thaw::dim {
namespace {

// Steps of the reductions of one `finish`: each makes the sum simpler, so this many are not met.
constexpr int kMaxReductions = 64;

// INT64_MIN counts as an overflow, so that every coefficient can be negated.
bool multiply_into(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result) && result != std::numeric_limits<int64_t>::min();
}

}  // namespace

void Poly::insert(size_t at, Term term) {
  // Terms that cancel later may pass the budget for a while; four budgets bound the work.
  if (count_ >= static_cast<size_t>(tables_->term_budget) * 4 + 16) {
    ok_ = false;
    return;
  }
  if (heap_.empty() && count_ == kInline) heap_.assign(inline_.begin(), inline_.end());
  if (heap_.empty()) {
    std::copy_backward(inline_.begin() + at, inline_.begin() + count_, inline_.begin() + count_ + 1);
    inline_[at] = term;
  } else {
    heap_.resize(count_);
    heap_.insert(heap_.begin() + static_cast<std::ptrdiff_t>(at), term);
  }
  ++count_;
}

void Poly::add_term(int64_t coef, const Monomial* monomial) {
  if (monomial == nullptr || coef == std::numeric_limits<int64_t>::min()) ok_ = false;
  if (!ok_ || coef == 0) return;
  Term* begin = data();
  if (count_ == 0 || begin[count_ - 1].monomial->id < monomial->id) return insert(count_, {coef, monomial});
  Term* at =
      std::lower_bound(begin, begin + count_, monomial->id, [](const Term& t, int id) { return t.monomial->id < id; });
  if (at->monomial != monomial) return insert(static_cast<size_t>(at - begin), {coef, monomial});
  ok_ = !__builtin_add_overflow(at->coef, coef, &at->coef) && at->coef != std::numeric_limits<int64_t>::min();
}

void Poly::add(Dim d, int64_t factor) {
  if (d.is_unknown()) ok_ = false;
  if (!ok_) return;
  int64_t value = 0;
  if (!d.is_symbolic()) {
    ok_ = multiply_into(*d.constant(), factor, value);
    if (ok_) add_constant(value);
    return;
  }
  ok_ = multiply_into(d.expr()->constant, factor, value);
  if (ok_) add_constant(value);
  for (const Term& t : d.expr()->terms) {
    if (!multiply_into(t.coef, factor, value)) ok_ = false;
    if (!ok_) return;
    add_term(value, t.monomial);
  }
}

void Poly::add(const Poly& other, int64_t factor) {
  int64_t value = 0;
  ok_ = ok_ && other.ok_ && multiply_into(other.constant_, factor, value);
  if (!ok_) return;
  add_constant(value);
  for (const Term& t : other.terms()) {
    if (!multiply_into(t.coef, factor, value)) ok_ = false;
    if (!ok_) return;
    add_term(value, t.monomial);
  }
}

void Poly::add_product(const Monomial* monomial, Dim d, int64_t factor) {
  if (d.is_unknown() || monomial == nullptr) ok_ = false;
  if (!ok_) return;
  int64_t value = 0;
  const int64_t constant = d.is_symbolic() ? d.expr()->constant : *d.constant();
  ok_ = multiply_into(constant, factor, value);
  if (!ok_) return;
  add_term(value, monomial);
  if (!d.is_symbolic()) return;
  for (const Term& t : d.expr()->terms) {
    if (!multiply_into(t.coef, factor, value)) ok_ = false;
    if (!ok_) return;
    add_term(value, tables_->multiply(monomial, t.monomial));
  }
}

void Poly::add_product(Dim a, Dim b, int64_t factor) {
  if (!a.is_symbolic()) std::swap(a, b);
  if (!a.is_symbolic()) {  // both constant or unknown
    int64_t value = 0;
    ok_ = ok_ && a.is_known() && b.is_known() && multiply_into(*a.constant(), *b.constant(), value);
    if (ok_) add(Dim(value), factor);
    return;
  }
  int64_t value = 0;
  ok_ = ok_ && multiply_into(a.expr()->constant, factor, value);
  if (!ok_) return;
  add(b, value);
  for (const Term& t : a.expr()->terms) {
    if (!multiply_into(t.coef, factor, value)) ok_ = false;
    if (!ok_) return;
    add_product(t.monomial, b, value);
  }
}

void Poly::tidy() {
  Term* begin = data();
  Term* end = std::remove_if(begin, begin + count_, [](const Term& t) { return t.coef == 0; });
  count_ = static_cast<size_t>(end - begin);
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

namespace {

bool holds(const Term& t, const Atom* atom) {
  return std::any_of(t.monomial->factors.begin(), t.monomial->factors.end(),
                     [&](const Factor& f) { return f.atom == atom; });
}

}  // namespace

bool Poly::reduce_rest_of_half() {
  const auto is_half = [](const Factor& f) {
    return f.power == 1 && f.atom->kind == AtomKind::kFloor && f.atom->operands[1].is_constant(2);
  };
  for (const Term& t : terms()) {
    const auto half = std::find_if(t.monomial->factors.begin(), t.monomial->factors.end(), is_half);
    if (half == t.monomial->factors.end() || !half->atom->operands[0].is_symbolic()) continue;
    if (congruence(half->atom->operands[0], 2).modulus == 2) continue;  // the halves are one, or one apart
    // Elsewhere in the sum, the half would meet the one that is put in its place here.
    if (std::any_of(terms().begin(), terms().end(), [&](const Term& u) { return &u != &t && holds(u, half->atom); }))
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
      if (std::none_of(terms().begin(), terms().end(), [&](const Term& u) { return holds(u, other); })) continue;
      // floor((x + 1)/2) = x - floor(x/2), in two steps: as a Dim of its own, the difference would be that half again.
      const Term half = t;
      replace(half, f, 0, other->operands[0], half.coef);
      replace({0, half.monomial}, f, 0, tables_->dim_of(other), -half.coef);
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

Dim Poly::finish() {
  tidy();
  if (std::any_of(terms().begin(), terms().end(), [](const Term& t) { return t.monomial->reducible; })) {
    for (int step = 0; step < kMaxReductions && ok_; ++step) {
      if (!reduce_exact() && !reduce_halves() && !reduce_rest_of_half()) break;
      tidy();
    }
  }
  if (!ok_) return Dim();
  return tables_->expression(constant_, terms());
}

}  // namespace thaw::dim
