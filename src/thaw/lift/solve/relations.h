// How a number follows from sizes, as one base or two of them in every trace. Internal to lift/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/lift/solve/solve.h"

namespace thaw::lifting {

// Whether none is too large for a size (the end of a Slice is INT64_MAX), so that sums and products do not overflow.
bool are_sizes(std::span<const int64_t> values);

// A product of variables and what it comes to in each trace. Expressions are made for what fits alone.
struct Candidate {
  std::vector<dim::Dim> factors;
  std::vector<int64_t> at;
  dim::Dim dim() const { return dim::product(factors); }
};

// Of variables that differ between the traces; of every two of these, the product.
std::vector<Candidate> candidates_of(std::span<const Variable> variables);
std::vector<Candidate> products_of(const std::vector<Candidate>& bases);
Candidate times(const Candidate& a, const Candidate& b);

// Whether the relation of (what the base comes to, what is wanted) holds in every trace.
bool matches(const Candidate& base, std::span<const int64_t> wanted, auto relation) {
  for (size_t k = 0; k < wanted.size(); ++k)
    if (!relation(base.at[k], wanted[k])) return false;
  return true;
}

std::optional<dim::Dim> itself(const Candidate& base, std::span<const int64_t> wanted);
// c with wanted = c * at, or wanted = at / c exactly.
std::optional<dim::Dim> scaled(const Candidate& base, std::span<const int64_t> wanted);
std::optional<dim::Dim> shifted(const Candidate& base, std::span<const int64_t> wanted);
// What is left of a constant: a padding up to it.
std::optional<dim::Dim> remaining(const Candidate& base, std::span<const int64_t> wanted);
// A share of it: two thirds, rounded.
std::optional<dim::Dim> share(const Candidate& base, std::span<const int64_t> wanted);
// num / den times it, exactly, and a constant. Two sizes lie on many lines.
std::optional<dim::Dim> line(const Candidate& base, std::span<const int64_t> wanted);
// One over another, exactly.
std::optional<dim::Dim> quotient(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted);
// The larger or smaller of two, or that part of both: cells of an image's longer side.
std::optional<dim::Dim> extreme(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted);
// What is left of it by whole pieces of one size, or that and a piece more: the last of them is repeated so often.
std::optional<dim::Dim> remainder(const Candidate& base, std::span<const int64_t> wanted);
// The distances between the cells of a grid, down times across, and a few more: (2h - 1)(2w - 1) + 3. Cells are square.
std::optional<dim::Dim> two_lines(const Candidate& a, const Candidate& b, std::span<const int64_t> wanted);

}  // namespace thaw::lifting
