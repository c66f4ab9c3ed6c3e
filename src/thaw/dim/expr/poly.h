// A polynomial under construction: terms are added to it, then `finish` interns the normal form. Internal to dim/.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "thaw/dim/expr/tables.h"

namespace thaw::dim {

class Poly {
 public:
  explicit Poly(Scope::Impl& tables) : tables_(&tables) {}
  Poly(Scope::Impl& tables, Dim d) : tables_(&tables) { add(d); }

  // False after an overflow, an unknown, or growth past the limit: what it holds is then meaningless.
  bool ok() const { return ok_; }
  int64_t constant() const { return constant_; }
  std::span<const Term> terms() const { return {data(), count_}; }  // ascending by monomial id; a coefficient may be 0
  Scope::Impl& tables() const { return *tables_; }

  void add_constant(int64_t value) { ok_ &= !__builtin_add_overflow(constant_, value, &constant_); }
  void add_term(int64_t coef, const Monomial* monomial);  // fails on a null monomial
  void add(Dim d, int64_t factor = 1);
  void add(const Poly& other, int64_t factor = 1);
  // += factor * a * b
  void add_product(Dim a, Dim b, int64_t factor = 1);
  // += factor * monomial * d
  void add_product(const Monomial* monomial, Dim d, int64_t factor);
  // Removes terms whose coefficient is 0.
  void tidy();
  void fail() { ok_ = false; }

  // The normal form; unknown where not ok() or past the scope's budget. Here, what terms have to do with one another is
  // used: 8*floor(x/8) is x where that is known to divide, floor(x/2) beside floor((x + 1)/2) is x minus that, and
  // min(a, b) + max(a, b) is a + b.
  Dim finish();

 private:
  // Takes (term.coef - kept) * term.monomial away and adds times * replacement * (the monomial without one such
  // factor).
  void replace(Term term, const Factor& factor, int64_t kept, Dim replacement, int64_t times);
  // Applies the reductions below (reduce.cc) until none fits. Each says whether it changed anything.
  void reduce();
  // c*floor(p/m), c at least m, where m is known to divide p.
  bool reduce_exact();
  // floor((x + 1)/2) where floor(x/2) stands too: x - floor(x/2).
  bool reduce_halves();
  // min(a, b) and max(a, b), as often as both stand: a + b.
  bool reduce_extremes();
  // c*x - c*floor(x/2): c*floor((x + 1)/2), and the other way round; all of it possibly times a monomial.
  bool reduce_rest_of_half();
  static constexpr size_t kInline = 16;

  const Term* data() const { return heap_.empty() ? inline_.data() : heap_.data(); }
  Term* data() { return heap_.empty() ? inline_.data() : heap_.data(); }
  void insert(size_t at, Term term);

  Scope::Impl* tables_;
  bool ok_ = true;
  int64_t constant_ = 0;
  size_t count_ = 0;
  std::array<Term, kInline> inline_;
  std::vector<Term> heap_;  // takes over from inline_ when that is full
};

}  // namespace thaw::dim
