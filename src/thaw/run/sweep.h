// Choosing the sizes at which models are compared.
//
// A point gives each name a size. Where a spec names few enough combinations all of them are points; a wide range is
// sampled: sizes spread over it (evenly in their logarithm), prime or a prime number of steps where there is one
// nearby, distinct from each other within a point, and not 0 or 1. The choice is a function of the spec alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/dim/text/range_spec.h"

namespace thaw::run {

// Sizes by name, in the order of the spec.
struct Point {
  std::vector<std::pair<std::string, int64_t>> sizes;

  const int64_t* find(std::string_view name) const;  // null where the point has no such name
  bool operator==(const Point&) const = default;
};

// "batch=3, h=320"
std::string describe(const Point& point);

// The points of a spec, group by group, each once. Of a group with more than `points` combinations that many are
// chosen; `points` 0 means 6 of a group with more than 16. Expressions are evaluated over the other names of their
// group. Throws thaw::Error for an expression over other names, or one without value.
std::vector<Point> choose_points(std::span<const dim::SpecGroup> spec, size_t points = 0);

// A symbol that the spec gives no size.
struct FreeSymbol {
  std::string name;
  bool spatial = false;  // an axis from 2 on of an input of rank 4 or more: a model's stride may have to divide it
  // Only ever the first of several axes, or the second of a recurrence's state: a batch, as far as can be told.
  bool leading = false;
};

// How free symbols are tried until the reference runs: sizes are distinct primes times these factors.
struct Scale {
  int64_t spatial = 1, other = 1;
};
std::span<const Scale> default_scales();

// Gives each free symbol a size: distinct primes times the scale, others in each round.
void add_default_sizes(Point& point, std::span<const FreeSymbol> symbols, size_t round, Scale scale);

bool is_prime(int64_t value);

}  // namespace thaw::run
