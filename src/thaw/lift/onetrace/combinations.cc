#include "thaw/lift/onetrace/combinations.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <set>
#include <unordered_map>

namespace thaw::lifting::onetrace {
namespace {

using Options = std::vector<std::vector<Option>>;

// What is chosen of the first unknowns, each beside what its parent chose of those before.
struct Chosen {
  uint32_t parent;
  uint32_t option;
};
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

struct State {
  double bound, cost;
  uint32_t last;  // kNone: nothing is chosen
  size_t count;   // of what is chosen
  // Of two that cost as much the one that is nearer to its end comes first.
  bool operator<(const State& other) const {
    return bound != other.bound ? bound > other.bound : count != other.count ? count < other.count : last > other.last;
  }
};

class CombinationSearch {
 public:
  CombinationSearch(const Options& options, const std::vector<std::vector<size_t>>& conditions, const auto& choose,
                    const auto& holds)
      : options_(options), choose_(choose), holds_(holds), due_(options.size()), least_(options.size() + 1) {
    for (size_t c = 0; c < conditions.size(); ++c) due_[std::ranges::max(conditions[c])].push_back(c);
    // What an unknown before may say costs no more than saying it again.
    std::vector<double> alone(options.size());
    std::set<size_t> said;
    for (size_t i = 0; i < options.size(); ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const Option& option : options[i])
        least = std::min(least, said.contains(option.says) ? std::min(option.cost, kAgain) : option.cost);
      alone[i] = least;
      for (const Option& option : options[i]) said.insert(option.says);
    }
    for (size_t i = options.size(); i-- > 0;) least_[i] = least_[i + 1] + alone[i];
  }

  Combinations run(const CombinationBounds& bounds) {
    Combinations out;
    if (std::ranges::any_of(options_, &std::vector<Option>::empty)) return out;
    std::priority_queue<State> open;
    open.push({least_[0], 0, kNone, 0});
    size_t steps = 0;
    while (!open.empty() && out.found.size() < bounds.most_found) {
      const State state = open.top();
      open.pop();
      go_to(state);
      if (state.count == options_.size()) {
        out.found.push_back({path_options(), state.cost});
        continue;
      }
      if (++steps > bounds.most_steps) {
        out.bounded = true;
        break;
      }
      const size_t i = state.count;
      for (uint32_t p = 0; p < options_[i].size(); ++p) {
        choose_(i, p);
        if (!std::ranges::all_of(due_[i], holds_)) continue;
        const double cost = state.cost + cost_of(options_[i][p]);
        chosen_.push_back({state.last, p});
        open.push({cost + least_[i + 1], cost, static_cast<uint32_t>(chosen_.size() - 1), i + 1});
      }
    }
    return out;
  }

 private:
  double cost_of(const Option& option) const {
    const auto known = said_.find(option.says);
    return known != said_.end() && known->second > 0 ? std::min(option.cost, kAgain) : option.cost;
  }

  std::vector<size_t> path_options() const {
    std::vector<size_t> options;
    for (const uint32_t at : path_) options.push_back(chosen_[at].option);
    return options;
  }

  // The next state mostly continues the last one: only what differs is told anew.
  void go_to(const State& state) {
    std::vector<uint32_t> anew;
    uint32_t at = state.last;
    size_t count = state.count;
    while (count > path_.size() || (count > 0 && path_[count - 1] != at)) {
      anew.push_back(at);
      at = chosen_[at].parent;
      --count;
    }
    for (size_t i = count; i < path_.size(); ++i) --said_[options_[i][chosen_[path_[i]].option].says];
    path_.resize(count);
    for (auto next = anew.rbegin(); next != anew.rend(); ++next) {
      const size_t i = path_.size(), option = chosen_[*next].option;
      choose_(i, option);
      ++said_[options_[i][option].says];
      path_.push_back(*next);
    }
  }

  const Options& options_;
  const std::function<void(size_t, size_t)>& choose_;
  const std::function<bool(size_t)>& holds_;
  std::vector<std::vector<size_t>> due_;  // by unknown: the conditions of which it is the last
  std::vector<double> least_;             // by unknown: what it and those behind it cost at least
  std::vector<Chosen> chosen_;
  std::vector<uint32_t> path_;               // of the state that was looked at last, by unknown
  std::unordered_map<size_t, size_t> said_;  // how often, on the path
};

}  // namespace

std::optional<size_t> only_difference(std::span<const size_t> options, std::span<const size_t> other) {
  const auto first = std::ranges::mismatch(options, other);
  if (first.in1 == options.end()) return std::nullopt;
  const bool is_only = std::equal(first.in1 + 1, options.end(), first.in2 + 1, other.end());
  return is_only ? std::optional<size_t>(first.in1 - options.begin()) : std::nullopt;
}

Combinations cheapest_combinations(const Options& options, const std::vector<std::vector<size_t>>& conditions,
                                   const std::function<void(size_t unknown, size_t option)>& choose,
                                   const std::function<bool(size_t condition)>& holds,
                                   const CombinationBounds& bounds) {
  return CombinationSearch(options, conditions, choose, holds).run(bounds);
}

}  // namespace thaw::lifting::onetrace
