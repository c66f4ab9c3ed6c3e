// Choosing among what inference allows: the model is run until its numbers are the reference's.
//
// Choices are tried from the cheapest on: first every component's cheapest combination, then those that differ in what
// costs least. A try ends at the first case that does not agree. What a failure depends on is learnt: choices that are
// the same there are passed over. The number of tries is bounded.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/onetrace/equations.h"

namespace thaw::lifting::onetrace {

struct SearchResult {
  std::optional<std::vector<size_t>> chosen;  // by component: which combination
  int tries = 0;
  bool bounded = false;  // more could have been tried
};

struct TrialResult {
  bool agrees = false;
  std::optional<std::vector<size_t>> blamed;  // components whose combinations alone make it fail; nullopt: all of them
};

// Every component must have a combination. `try_out` tries one combination a component.
SearchResult search(std::span<const Component> components, int most_tries,
                    const std::function<TrialResult(const std::vector<size_t>& combinations)>& try_out);

}  // namespace thaw::lifting::onetrace
