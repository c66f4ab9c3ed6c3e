#include "thaw/dim/expr/relax.h"

#include <algorithm>
#include <vector>

#include "thaw/dim/expr/exact.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {
namespace {

// Steps of one relaxed_lower: a bound on its work.
constexpr int kMaxSteps = 24;

int64_t ceil_quotient(int64_t a, int64_t b) { return -floor_quotient(-a, b); }

// One occurrence of an atom that can be replaced: term `term`, of which `atom` is a factor with power 1 and `rest` the others.
struct Position {
  Term term;
  const Atom* atom = nullptr;
  const Monomial* rest = nullptr;  // null for 1
  bool positive = true;            // coef * rest >= 0; else <= 0
};

class Relaxation {
 public:
  explicit Relaxation(Scope::Impl& tables) : tables_(tables) {}

  // A lower bound of poly / scale.
  std::optional<int64_t> lower(Poly poly, int64_t scale) {
    poly.tidy();
    if (!poly.ok() || ++steps_ > kMaxSteps) return std::nullopt;
    std::optional<int64_t> best;
    raise(best, sum_of_bounds(poly).lower, scale);
    if (auto shifted = lower_by_shift(poly)) raise(best, *shifted, scale);
    if (const std::optional<Position> position = choose(poly)) replace(poly, *position, scale, best);
    return best;
  }

 private:
  static void raise(std::optional<int64_t>& best, int64_t bound, int64_t scale) {
    if (bound == Bounds::kMinusInfinity) return;
    bound = ceil_quotient(bound, scale);
    if (!best || *best < bound) best = bound;
  }

  // The deepest atom that has a bound in the direction its sign asks for.
  std::optional<Position> choose(const Poly& poly) {
    std::optional<Position> chosen;
    for (const Term& t : poly.terms()) {
      for (const Factor& f : t.monomial->factors) {
        if (f.atom->kind == AtomKind::kSymbol || f.power != 1) continue;
        if (chosen && std::pair(f.atom->depth, f.atom->id) <= std::pair(chosen->atom->depth, chosen->atom->id))
          continue;
        if (auto position = position_of(t, f.atom)) chosen = position;
      }
    }
    return chosen;
  }

  std::optional<Position> position_of(const Term& t, const Atom* atom) {
    Position position{t, atom, nullptr, t.coef > 0};
    if (t.monomial->factors.size() > 1) {
      std::vector<Factor> others;
      for (const Factor& f : t.monomial->factors) {
        if (f.atom != atom) others.push_back(f);
      }
      position.rest = tables_.monomial(others);
      if (position.rest == nullptr) return std::nullopt;
      const Bounds sign = bounds_of(*position.rest, tables_);
      if (sign.lower < 0 && sign.upper > 0) return std::nullopt;
      if (sign.lower < 0) position.positive = !position.positive;
    }
    switch (atom->kind) {
      case AtomKind::kFloor:
        return atom->operands[1].is_constant() || divides(atom->operands[1], position.rest) ? std::optional(position)
                                                                                            : std::nullopt;
      case AtomKind::kMin:
        return position.positive ? std::nullopt : std::optional(position);
      case AtomKind::kMax:
        return position.positive ? std::optional(position) : std::nullopt;
      default: {
        const bool at_least_one =
            std::all_of(atom->operands.begin(), atom->operands.end(), [](Dim d) { return bounds_of(d).lower >= 1; });
        return position.positive && at_least_one ? std::optional(position) : std::nullopt;
      }
    }
  }

  // divisor is one monomial, never negative, that is a factor of rest.
  static bool divides(Dim divisor, const Monomial* rest) {
    const Expr* e = divisor.expr();
    if (e == nullptr || rest == nullptr || e->constant != 0 || e->terms.size() != 1 || e->terms[0].coef != 1)
      return false;
    return bounds_of(divisor).lower >= 0 && quotient(*rest, *e->terms[0].monomial).has_value();
  }

  // += factor * rest * bound, rest possibly 1.
  static void add(Poly& poly, const Monomial* rest, Dim bound, int64_t factor) {
    if (rest == nullptr) {
      poly.add(bound, factor);
    } else {
      poly.add_product(rest, bound, factor);
    }
  }

  void replace(const Poly& poly, const Position& position, int64_t scale, std::optional<int64_t>& best) {
    const int64_t coef = position.term.coef;
    if (position.atom->kind != AtomKind::kFloor) {
      for (Dim operand : position.atom->operands) {
        Poly next = poly;
        next.add_term(-coef, position.term.monomial);
        add(next, position.rest, operand, coef);
        if (auto found = lower(std::move(next), scale)) raise(best, *found, 1);
      }
      return;
    }
    const Dim numerator = position.atom->operands[0];
    const Dim divisor = position.atom->operands[1];
    if (auto m = divisor.constant()) {  // m*floor(p/m) is p - m + 1 at least and p at most
      int64_t scaled = 0;
      if (*m <= 0 || __builtin_mul_overflow(scale, *m, &scaled)) return;
      Poly without = poly;
      without.add_term(-coef, position.term.monomial);
      Poly next(tables_);
      next.add(without, *m);
      add(next, position.rest, numerator, coef);
      if (position.positive) {
        int64_t slack = 0;
        if (__builtin_mul_overflow(coef, 1 - *m, &slack)) return;
        add(next, position.rest, Dim(slack), 1);
      }
      if (auto found = lower(std::move(next), scaled)) raise(best, *found, 1);
      return;
    }
    // d*floor(p/d) is p - d + 1 at least and p at most, for d > 0.
    const auto others = quotient(*position.rest, *divisor.expr()->terms[0].monomial);
    const Monomial* rest = others->empty() ? nullptr : tables_.monomial(*others);
    if (!others->empty() && rest == nullptr) return;
    if (rest != nullptr && bounds_of(*rest, tables_).lower < 0) return;
    Poly next = poly;
    next.add_term(-coef, position.term.monomial);
    add(next, rest, coef > 0 ? numerator - divisor + 1 : numerator, coef);
    if (auto found = lower(std::move(next), scale)) raise(best, *found, 1);
  }

  // Counts every atom from its lowest value: x = lowest + x'. x' takes the place of x, with the range [0, highest -
  // lowest].
  std::optional<int64_t> lower_by_shift(const Poly& poly) {
    bool product = false;
    for (const Term& t : poly.terms()) product |= t.monomial->degree > 1;
    if (!product) return std::nullopt;
    std::vector<std::pair<const Atom*, Bounds>> shifted;
    Poly current = poly;
    for (const Term& t : poly.terms()) {
      for (const Factor& f : t.monomial->factors) {
        const bool seen = std::any_of(shifted.begin(), shifted.end(), [&](auto& s) { return s.first == f.atom; });
        if (seen) continue;
        const Bounds bounds = bounds_of(*f.atom, tables_);
        shifted.emplace_back(f.atom, bounds);
        if (bounds.has_lower() && bounds.lower != 0) current = shift(current, f.atom, bounds.lower);
        if (!current.ok()) return std::nullopt;
      }
    }
    Bounds total{current.constant(), current.constant()};
    for (const Term& t : current.terms()) {
      Bounds value{1, 1};
      for (const Factor& f : t.monomial->factors) {
        Bounds bounds =
            std::find_if(shifted.begin(), shifted.end(), [&](auto& s) { return s.first == f.atom; })->second;
        if (bounds.has_lower() && bounds.lower != 0) bounds = bounds + Bounds{-bounds.lower, -bounds.lower};
        value = value * power(bounds, f.power);
      }
      total = total + t.coef * value;
    }
    if (!total.has_lower()) return std::nullopt;
    return total.lower;
  }

  // poly with `atom` replaced by atom + offset.
  Poly shift(const Poly& poly, const Atom* atom, int64_t offset) {
    Poly result(tables_);
    result.add_constant(poly.constant());
    for (const Term& t : poly.terms()) {
      std::vector<Factor> others;
      int exponent = 0;
      for (const Factor& f : t.monomial->factors) {
        if (f.atom == atom) {
          exponent = f.power;
        } else {
          others.push_back(f);
        }
      }
      // coef * others * sum over i of C(exponent, i) * offset^(exponent - i) * atom^i
      int64_t coef = t.coef;
      for (int i = exponent; i >= 0; --i) {
        std::vector<Factor> factors = others;
        if (i > 0) {
          auto at =
              std::find_if(factors.begin(), factors.end(), [&](const Factor& f) { return f.atom->id > atom->id; });
          factors.insert(at, {atom, i});
        }
        if (factors.empty()) {
          result.add_constant(coef);
        } else {
          result.add_term(coef, tables_.monomial(factors));
        }
        if (i == 0 || !result.ok()) break;
        if (__builtin_mul_overflow(coef, offset, &coef) || __builtin_mul_overflow(coef, i, &coef)) {
          result.fail();
          return result;
        }
        coef /= exponent - i + 1;  // exact: C(e, i-1) = C(e, i) * i / (e - i + 1)
      }
      if (!result.ok()) return result;
    }
    return result;
  }

  Scope::Impl& tables_;
  int steps_ = 0;
};

}  // namespace

Bounds sum_of_bounds(const Poly& poly) {
  Bounds total{poly.constant(), poly.constant()};
  for (const Term& t : poly.terms()) total = total + t.coef * bounds_of(*t.monomial, poly.tables());
  return total;
}

std::optional<int64_t> relaxed_lower(const Poly& poly) {
  const bool linear_in_symbols = std::all_of(poly.terms().begin(), poly.terms().end(), [](const Term& t) {
    return t.monomial->degree == 1 && t.monomial->depth == 0;
  });
  if (linear_in_symbols) return std::nullopt;  // term by term is exact
  return Relaxation(poly.tables()).lower(poly, 1);
}

}  // namespace thaw::dim
