#include "thaw/lift/solve.h"

#include <algorithm>

namespace thaw::lift {
namespace {

using dim::Dim;
using Values = std::vector<int64_t>;

constexpr int64_t kLargestDivisor = 64;

bool is_constant(std::span<const int64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values.front(); });
}

struct Candidate {
  Dim dim;
  Values at;
};

// c with wanted = c * at, or wanted = at / c exactly.
std::optional<Dim> scaled(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t first = base.at.front();
  if (first == 0) return std::nullopt;
  const auto all = [&](auto matches) {
    for (size_t k = 0; k < wanted.size(); ++k)
      if (!matches(base.at[k], wanted[k])) return false;
    return true;
  };
  if (wanted.front() % first == 0) {
    const int64_t factor = wanted.front() / first;
    if (factor != 0 && all([&](int64_t at, int64_t want) { return at * factor == want; }))
      return base.dim * Dim(factor);
  }
  if (wanted.front() != 0 && first % wanted.front() == 0) {
    const int64_t divisor = first / wanted.front();
    if (divisor > 1 && all([&](int64_t at, int64_t want) { return want * divisor == at; }))
      return dim::floor_div(base.dim, divisor);
  }
  return std::nullopt;
}

std::optional<Dim> shifted(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t difference = wanted.front() - base.at.front();
  for (size_t k = 0; k < wanted.size(); ++k)
    if (wanted[k] - base.at[k] != difference) return std::nullopt;
  return base.dim + Dim(difference);
}

// What is left of a constant: a padding up to it.
std::optional<Dim> remaining(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t sum = wanted.front() + base.at.front();
  for (size_t k = 0; k < wanted.size(); ++k)
    if (wanted[k] + base.at[k] != sum) return std::nullopt;
  return Dim(sum) - base.dim;
}

// A share of it: two thirds, rounded.
std::optional<Dim> share(const Candidate& base, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestPart = 8;
  for (int64_t of = 3; of <= kLargestPart; ++of) {
    for (int64_t parts = 2; parts < of; ++parts) {
      bool down = true, up = true;
      for (size_t k = 0; k < wanted.size(); ++k) {
        if (base.at[k] < 0) return std::nullopt;
        down &= base.at[k] * parts / of == wanted[k];
        up &= (base.at[k] * parts + of - 1) / of == wanted[k];
      }
      if (down) return dim::floor_div(base.dim * Dim(parts), of);
      if (up) return dim::ceil_div(base.dim * Dim(parts), of);
    }
  }
  return std::nullopt;
}

std::optional<Dim> rounded(const Candidate& base, std::span<const int64_t> wanted) {
  for (int64_t divisor = 2; divisor <= kLargestDivisor; ++divisor) {
    bool down = true, up = true;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (base.at[k] < 0) return std::nullopt;
      down &= base.at[k] / divisor == wanted[k];
      up &= (base.at[k] + divisor - 1) / divisor == wanted[k];
    }
    if (down) return dim::floor_div(base.dim, divisor);
    if (up) return dim::ceil_div(base.dim, divisor);
  }
  return std::nullopt;
}

Candidate times(const Candidate& a, const Candidate& b) {
  Candidate product{a.dim * b.dim, a.at};
  for (size_t k = 0; k < product.at.size(); ++k) product.at[k] *= b.at[k];
  return product;
}

}  // namespace

std::optional<Dim> Solver::solve(std::span<const int64_t> wanted) const {
  if (is_constant(wanted)) return Dim(wanted.front());
  std::vector<Candidate> bases;
  for (const Variable& v : variables_)
    if (!is_constant(v.at)) bases.push_back({v.symbol, v.at});
  for (const Candidate& base : bases)
    if (std::equal(base.at.begin(), base.at.end(), wanted.begin())) return base.dim;
  for (const Candidate& base : bases)
    if (auto found = scaled(base, wanted)) return found;
  std::vector<Candidate> products;
  for (size_t i = 0; i < bases.size(); ++i)
    for (size_t j = i; j < bases.size(); ++j) products.push_back(times(bases[i], bases[j]));
  for (const Candidate& product : products)
    if (auto found = scaled(product, wanted)) return found;
  for (const Candidate& base : bases)
    if (auto found = shifted(base, wanted)) return found;
  for (const Candidate& base : bases)
    if (auto found = remaining(base, wanted)) return found;
  for (const Candidate& base : bases)
    if (auto found = rounded(base, wanted)) return found;
  for (const Candidate& base : bases)
    if (auto found = share(base, wanted)) return found;
  for (const Candidate& product : products)
    for (const Candidate& base : bases)
      if (auto found = scaled(times(product, base), wanted)) return found;
  for (size_t i = 0; i < bases.size(); ++i) {
    for (size_t j = i + 1; j < bases.size(); ++j) {
      bool larger = true, smaller = true;
      for (size_t k = 0; k < wanted.size(); ++k) {
        larger &= std::max(bases[i].at[k], bases[j].at[k]) == wanted[k];
        smaller &= std::min(bases[i].at[k], bases[j].at[k]) == wanted[k];
      }
      if (larger) return dim::max(bases[i].dim, bases[j].dim);
      if (smaller) return dim::min(bases[i].dim, bases[j].dim);
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lift
