#include "thaw/dim/expr/poly.h"

#include <algorithm>
#include <limits>

namespace thaw::dim {
namespace {

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

Dim Poly::finish() {
  tidy();
  reduce();
  if (!ok_) return Dim();
  return tables_->expression(constant_, terms());
}

}  // namespace thaw::dim
