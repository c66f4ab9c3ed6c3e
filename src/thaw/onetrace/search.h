// Choosing among what inference allows: the model is run until its numbers are the reference's.
//
// Choices are tried from the cheapest on: first every component's cheapest combination, then those that differ in what
// costs least. A try ends at the first case that does not agree. The number of tries is bounded.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "thaw/onetrace/equations.h"

namespace thaw::onetrace {

struct SearchResult {
  std::optional<std::vector<size_t>> chosen;  // by component: which combination
  int tries = 0;
  bool bounded = false;  // more could have been tried
};

// Every component must have a combination. `agrees` tries one combination a component.
SearchResult search(std::span<const Component> components, int most_tries,
                    const std::function<bool(const std::vector<size_t>& combinations)>& agrees);

}  // namespace thaw::onetrace
