#include "thaw/lift/solve.h"

#include <algorithm>

#include "thaw/lift/propose.h"

namespace thaw::lift {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

constexpr int64_t kLargestDivisor = 64;

bool is_constant(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values.front(); });
}

// A product of variables and what it comes to in each trace. Expressions are made for what fits alone.
struct Candidate {
  std::vector<Dim> factors;
  Values at;
  Dim dim() const { return dim::product(factors); }
};

bool matches(const Candidate& base, std::span<const int64_t> wanted, auto relation) {
  for (size_t k = 0; k < wanted.size(); ++k)
    if (!relation(base.at[k], wanted[k])) return false;
  return true;
}

// c with wanted = c * at, or wanted = at / c exactly.
std::optional<Dim> scaled(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t first = base.at.front();
  if (first == 0) return std::nullopt;
  if (wanted.front() % first == 0) {
    const int64_t factor = wanted.front() / first;
    if (factor != 0 && matches(base, wanted, [&](int64_t at, int64_t want) { return at * factor == want; }))
      return base.dim() * Dim(factor);
  }
  if (wanted.front() != 0 && first % wanted.front() == 0) {
    const int64_t divisor = first / wanted.front();
    if (divisor > 1 && matches(base, wanted, [&](int64_t at, int64_t want) { return want * divisor == at; }))
      return dim::floor_div(base.dim(), divisor);
  }
  return std::nullopt;
}

std::optional<Dim> shifted(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t difference = wanted.front() - base.at.front();
  if (!matches(base, wanted, [&](int64_t at, int64_t want) { return want - at == difference; })) return std::nullopt;
  return base.dim() + Dim(difference);
}

// What is left of a constant: a padding up to it.
std::optional<Dim> remaining(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t sum = wanted.front() + base.at.front();
  if (!matches(base, wanted, [&](int64_t at, int64_t want) { return want + at == sum; })) return std::nullopt;
  return Dim(sum) - base.dim();
}

// parts / of of it, rounded down or up.
std::optional<Dim> rounded_part(const Candidate& base, std::span<const int64_t> wanted, int64_t parts, int64_t of) {
  if (matches(base, wanted, [&](int64_t at, int64_t want) { return at >= 0 && at * parts / of == want; }))
    return dim::floor_div(base.dim() * Dim(parts), of);
  if (matches(base, wanted, [&](int64_t at, int64_t want) { return at >= 0 && (at * parts + of - 1) / of == want; }))
    return dim::ceil_div(base.dim() * Dim(parts), of);
  return std::nullopt;
}

std::optional<Dim> rounded(const Candidate& base, std::span<const int64_t> wanted) {
  for (int64_t divisor = 2; divisor <= kLargestDivisor; ++divisor)
    if (auto found = rounded_part(base, wanted, 1, divisor)) return found;
  return std::nullopt;
}

// A share of it: two thirds, rounded.
std::optional<Dim> share(const Candidate& base, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestPart = 8;
  for (int64_t of = 3; of <= kLargestPart; ++of)
    for (int64_t parts = 2; parts < of; ++parts)
      if (auto found = rounded_part(base, wanted, parts, of)) return found;
  return std::nullopt;
}

// One over another, exactly.
std::optional<Dim> quotient(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted) {
  for (size_t k = 0; k < wanted.size(); ++k)
    if (b.at[k] == 0 || wanted[k] * b.at[k] != a.at[k]) return std::nullopt;
  return dim::floor_div(a.dim(), b.dim());
}

std::optional<Dim> extreme(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted) {
  bool larger = true, smaller = true;
  for (size_t k = 0; k < wanted.size(); ++k) {
    larger &= std::max(a.at[k], b.at[k]) == wanted[k];
    smaller &= std::min(a.at[k], b.at[k]) == wanted[k];
  }
  if (larger) return dim::max(a.dim(), b.dim());
  if (smaller) return dim::min(a.dim(), b.dim());
  return std::nullopt;
}

Candidate times(const Candidate& a, const Candidate& b) {
  Candidate product = a;
  product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
  for (size_t k = 0; k < product.at.size(); ++k)
    if (__builtin_mul_overflow(product.at[k], b.at[k], &product.at[k])) product.at[k] = 0;
  return product;
}

// The first candidate that a rule takes.
std::optional<Dim> first_of(const std::vector<Candidate>& candidates, auto rule) {
  for (const Candidate& candidate : candidates)
    if (auto found = rule(candidate)) return found;
  return std::nullopt;
}

}  // namespace

std::optional<Dim> Solver::solve(std::span<const int64_t> wanted) const {
  if (wanted.size() == 1) {
    if (const auto settled = settled_.find(wanted.front()); settled != settled_.end()) return settled->second;
    std::vector<Point> points;
    for (const Variable& v : variables_) points.push_back({v.symbol, v.at});
    return propose(wanted.front(), points).front().dim;
  }
  if (is_constant(wanted)) return Dim(wanted.front());
  std::vector<Candidate> bases;
  for (const Variable& v : variables_)
    if (!is_constant(v.at)) bases.push_back({{v.symbol}, v.at});
  const auto by = [&](auto rule) { return [&, rule](const Candidate& c) { return rule(c, wanted); }; };
  const auto pairs = [&](auto rule) {
    return [&, rule](const Candidate& a) -> std::optional<Dim> {
      for (const Candidate& b : bases)
        if (&a != &b)
          if (auto found = rule(a, b, wanted)) return found;
      return std::nullopt;
    };
  };
  for (const Candidate& base : bases)
    if (base.at.size() == wanted.size() && std::equal(base.at.begin(), base.at.end(), wanted.begin()))
      return base.dim();
  if (auto found = first_of(bases, by(scaled))) return found;
  std::vector<Candidate> products;
  for (size_t i = 0; i < bases.size(); ++i)
    for (size_t j = i; j < bases.size(); ++j) products.push_back(times(bases[i], bases[j]));
  if (auto found = first_of(products, by(scaled))) return found;
  if (auto found = first_of(bases, by(shifted))) return found;
  if (auto found = first_of(bases, by(remaining))) return found;
  if (auto found = first_of(bases, pairs(quotient))) return found;
  if (auto found = first_of(bases, by(rounded))) return found;
  if (auto found = first_of(bases, by(share))) return found;
  for (const Candidate& product : products)
    for (const Candidate& base : bases)
      if (auto found = scaled(times(product, base), wanted)) return found;
  return first_of(bases, pairs(extreme));
}

}  // namespace thaw::lift
