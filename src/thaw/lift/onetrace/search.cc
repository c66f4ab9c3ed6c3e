#include "thaw/lift/onetrace/search.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace thaw::lifting::onetrace {
namespace {

constexpr size_t kMostLookedAt = 100'000;  // choices, tried or passed over

// What differs from each component's cheapest combination: (position in the order, combination), ascending.
struct SearchState {
  double cost = 0;
  std::vector<std::pair<size_t, size_t>> changed;
  bool operator<(const SearchState& other) const { return cost > other.cost; }
};

}  // namespace

SearchResult search(std::span<const Component> components, int most_tries,
                    const std::function<TrialResult(const std::vector<size_t>& combinations)>& try_out) {
  const auto step = [&](size_t component, size_t to) {
    const auto& combinations = components[component].combinations;
    return combinations[to].cost - combinations[to - 1].cost;
  };
  // Those with a choice, the one whose second combination costs least more first: then each state's successors cost
  // more than it does, and each state is reached once.
  std::vector<size_t> order;
  for (size_t c = 0; c < components.size(); ++c)
    if (components[c].combinations.size() > 1) order.push_back(c);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return step(a, 1) < step(b, 1); });
  std::vector<size_t> place(components.size(), order.size());  // in the order
  for (size_t i = 0; i < order.size(); ++i) place[order[i]] = i;

  using Failure = std::vector<std::pair<size_t, size_t>>;  // components and their combinations
  std::vector<Failure> failures;
  size_t popped = 0;
  SearchResult result;
  std::priority_queue<SearchState> open;
  open.push({});
  while (!open.empty()) {
    if (result.tries == most_tries) {
      result.bounded = true;
      return result;
    }
    const SearchState state = open.top();
    open.pop();
    if (++popped > kMostLookedAt) {
      result.bounded = true;
      return result;
    }
    const auto combination_of = [&](size_t component) -> size_t {
      const auto changed =
          std::ranges::lower_bound(state.changed, place[component], {}, &std::pair<size_t, size_t>::first);
      return changed != state.changed.end() && changed->first == place[component] ? changed->second : 0;
    };
    const bool fails = std::ranges::any_of(failures, [&](const Failure& failure) {
      return std::ranges::all_of(failure, [&](const auto& part) { return combination_of(part.first) == part.second; });
    });
    if (!fails) {
      ++result.tries;
      std::vector<size_t> combinations(components.size(), 0);
      for (const auto& [position, combination] : state.changed) combinations[order[position]] = combination;
      const TrialResult trial = try_out(combinations);
      if (trial.agrees) {
        result.chosen = std::move(combinations);
        return result;
      }
      if (trial.blamed) {
        if (trial.blamed->empty()) return result;  // whatever is chosen
        Failure& failure = failures.emplace_back();
        for (const size_t component : *trial.blamed) failure.emplace_back(component, combinations[component]);
      }
    }
    const bool is_first = state.changed.empty();
    const size_t next = is_first ? 0 : state.changed.back().first + 1;
    if (next < order.size()) {
      SearchState more = state;  // the next one too
      more.changed.emplace_back(next, 1);
      more.cost += step(order[next], 1);
      open.push(std::move(more));
    }
    if (is_first) continue;
    const auto [last, combination] = state.changed.back();
    if (combination == 1 && next < order.size()) {
      SearchState other = state;  // the next one instead
      other.changed.back() = {next, 1};
      other.cost += step(order[next], 1) - step(order[last], 1);
      open.push(std::move(other));
    }
    if (combination + 1 < components[order[last]].combinations.size()) {
      SearchState further = state;
      further.changed.back().second = combination + 1;
      further.cost += step(order[last], combination + 1);
      open.push(std::move(further));
    }
  }
  return result;
}

}  // namespace thaw::lifting::onetrace
