// The cheapest ways to choose an option for each of several unknowns such that some conditions between them hold.
//
// Best first: what is left to choose is counted at its least. The number of steps is bounded. Internal to lift/onetrace/.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace thaw::lifting::onetrace {

// Of an unknown, an option; what it says costs `cost`, and no more than kAgain where an unknown before it says the same.
struct Option {
  double cost = 0;
  size_t says = 0;
};
constexpr double kAgain = 0.5;  // bits, of saying the same once more

struct Combination {
  std::vector<size_t> options;  // by unknown
  double cost = 0;
};

// The only unknown that two choices of options differ in; nullopt where they are the same, or differ in more.
std::optional<size_t> only_difference(std::span<const size_t> options, std::span<const size_t> other);

struct Combinations {
  std::vector<Combination> found;  // the cheapest first
  bool bounded = false;            // more could have been looked at
};

struct CombinationBounds {
  size_t most_found = 200, most_steps = 50'000;
};

// options: by unknown, the cheapest first. conditions: the unknowns that each speaks of. choose: is told what an unknown is before a condition on
// it is asked of. holds: whether the condition does, all its unknowns being chosen.
Combinations cheapest_combinations(const std::vector<std::vector<Option>>& options,
                                   const std::vector<std::vector<size_t>>& conditions,
                                   const std::function<void(size_t unknown, size_t option)>& choose,
                                   const std::function<bool(size_t condition)>& holds,
                                   const CombinationBounds& bounds = {});

}  // namespace thaw::lifting::onetrace
