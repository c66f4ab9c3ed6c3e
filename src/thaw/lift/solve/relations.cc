#include "thaw/lift/solve/relations.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>
#include <utility>

namespace thaw::lifting {
namespace {

using dim::Dim;

constexpr int64_t kLargestSize = int64_t{1} << 30;

// parts / of of it, rounded down or up.
std::optional<Dim> rounded_part(const Candidate& base, std::span<const int64_t> wanted, int64_t parts, int64_t of) {
  if (matches(base, wanted, [&](int64_t at, int64_t want) { return at >= 0 && at * parts / of == want; }))
    return dim::floor_div(base.dim() * Dim(parts), of);
  if (matches(base, wanted, [&](int64_t at, int64_t want) { return at >= 0 && (at * parts + of - 1) / of == want; }))
    return dim::ceil_div(base.dim() * Dim(parts), of);
  return std::nullopt;
}

}  // namespace

bool are_sizes(std::span<const int64_t> values) {
  return std::ranges::all_of(values, [](int64_t v) { return v >= -kLargestSize && v <= kLargestSize; });
}

std::vector<Candidate> candidates_of(std::span<const Variable> variables) {
  std::vector<Candidate> bases;
  for (const Variable& v : variables)
    if (v.varies() && are_sizes(v.at)) bases.push_back({{v.symbol}, v.at});
  return bases;
}

std::vector<Candidate> products_of(const std::vector<Candidate>& bases) {
  std::vector<Candidate> products;
  for (size_t i = 0; i < bases.size(); ++i)
    for (size_t j = i; j < bases.size(); ++j) products.push_back(times(bases[i], bases[j]));
  return products;
}

Candidate times(const Candidate& a, const Candidate& b) {
  Candidate product = a;
  product.factors.insert(product.factors.end(), b.factors.begin(), b.factors.end());
  for (size_t k = 0; k < product.at.size(); ++k)
    if (product.at[k] *= b.at[k]; std::abs(product.at[k]) > kLargestSize) product.at[k] = 0;
  return product;
}

std::optional<Dim> itself(const Candidate& base, std::span<const int64_t> wanted) {
  if (!matches(base, wanted, [](int64_t at, int64_t want) { return at == want; })) return std::nullopt;
  return base.dim();
}

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

std::optional<Dim> remaining(const Candidate& base, std::span<const int64_t> wanted) {
  const int64_t sum = wanted.front() + base.at.front();
  if (!matches(base, wanted, [&](int64_t at, int64_t want) { return want + at == sum; })) return std::nullopt;
  return Dim(sum) - base.dim();
}

std::optional<Dim> share(const Candidate& base, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestPart = 8;
  for (int64_t of = 3; of <= kLargestPart; ++of)
    for (int64_t parts = 2; parts < of; ++parts)
      if (auto found = rounded_part(base, wanted, parts, of)) return found;
  return std::nullopt;
}

std::optional<Dim> quotient(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted) {
  for (size_t k = 0; k < wanted.size(); ++k)
    if (b.at[k] == 0 || wanted[k] * b.at[k] != a.at[k]) return std::nullopt;
  return dim::floor_div(a.dim(), b.dim());
}

std::optional<Dim> extreme(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted) {
  for (const bool larger : {true, false}) {
    const auto of_two = [&](size_t k) { return larger ? std::max(a.at[k], b.at[k]) : std::min(a.at[k], b.at[k]); };
    if (wanted[0] <= 0 || of_two(0) % wanted[0] != 0) continue;
    const int64_t part = of_two(0) / wanted[0];
    bool fits = part > 0;
    for (size_t k = 0; k < wanted.size() && fits; ++k)
      fits = of_two(k) == wanted[k] * part && a.at[k] % part == 0 && b.at[k] % part == 0;
    if (!fits) continue;
    const Dim x = dim::floor_div(a.dim(), part), y = dim::floor_div(b.dim(), part);
    return larger ? dim::max(x, y) : dim::min(x, y);
  }
  return std::nullopt;
}

std::optional<Dim> line(const Candidate& base, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestDivisor = 64;
  size_t other = 1;
  while (other < wanted.size() && base.at[other] == base.at[0]) ++other;
  const std::set<int64_t> sizes(base.at.begin(), base.at.end());
  if (other >= wanted.size() || sizes.size() < 3) return std::nullopt;
  int64_t num = wanted[other] - wanted[0], den = base.at[other] - base.at[0];
  if (num == 0) return std::nullopt;
  const int64_t common = std::gcd(num, den) * (den < 0 ? -1 : 1);
  num /= common;
  den /= common;
  if (num <= 0 || den > kLargestDivisor || base.at[0] % den != 0) return std::nullopt;
  const int64_t offset = wanted[0] - base.at[0] / den * num;
  if (!matches(base, wanted,
               [&](int64_t at, int64_t want) { return at % den == 0 && at / den * num + offset == want; }))
    return std::nullopt;
  return dim::floor_div(base.dim(), den) * Dim(num) + Dim(offset);
}

std::optional<Dim> remainder(const Candidate& base, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestPiece = 64;
  for (int64_t piece = 2; piece <= kLargestPiece; ++piece) {
    // A size that is shorter than a piece is left whole, which says nothing of the piece.
    if (std::ranges::any_of(base.at, [&](int64_t at) { return at < piece; })) return std::nullopt;
    // Where every trace leaves something, nothing tells whether whole pieces leave nothing or one of them.
    if (std::ranges::none_of(base.at, [&](int64_t at) { return at % piece == 0; })) continue;
    for (const int64_t more : {int64_t{0}, piece})
      if (matches(base, wanted, [&](int64_t at, int64_t want) { return at % piece + more == want; }))
        return base.dim() - dim::floor_div(base.dim(), piece) * Dim(piece) + Dim(more);
  }
  return std::nullopt;
}

std::optional<Dim> two_lines(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted) {
  constexpr int64_t kLargestPart = 64, kMostMore = 4;
  for (int64_t part = 1; part <= kLargestPart; ++part) {
    const auto divides = [&](int64_t at) { return at % part == 0; };
    if (!std::all_of(a.at.begin(), a.at.end(), divides) || !std::all_of(b.at.begin(), b.at.end(), divides)) continue;
    for (const auto& [times, more] : {std::pair<int64_t, int64_t>{1, -1}, {1, 1}, {2, -1}, {2, 1}}) {
      const auto side = [&, t = times, m = more](int64_t at) { return at / part * t + m; };
      const int64_t rest = wanted[0] - side(a.at[0]) * side(b.at[0]);
      if (rest < 0 || rest > kMostMore) continue;
      bool fits = true;
      for (size_t k = 0; k < wanted.size(); ++k) fits &= side(a.at[k]) * side(b.at[k]) + rest == wanted[k];
      if (!fits) continue;
      const auto of = [&, t = times, m = more](const Candidate& c) {
        return dim::floor_div(c.dim(), part) * Dim(t) + Dim(m);
      };
      return of(a) * of(b) + Dim(rest);
    }
  }
  return std::nullopt;
}

}  // namespace thaw::lifting
