// The search for values that break a statement. Internal to dim/.
#pragma once

#include <optional>
#include <queue>
#include <vector>

#include "thaw/dim/expr/program.h"
#include "thaw/dim/prove/statement.h"

namespace thaw::dim {

// The admitted values of one symbol, nearest to 0 first: for a size, ascending.
class Axis {
 public:
  explicit Axis(const SymbolInfo& info);

  // The value at a place in that order; nullopt past the last.
  std::optional<int64_t> at(size_t position);
  std::optional<int64_t> count() const { return count_; }  // none: past what is countable
  // The admitted value nearest to `value`.
  int64_t nearest(int64_t value) const;
  int64_t lower() const { return lower_; }  // -2^62 for none
  int64_t upper() const { return upper_; }

 private:
  int64_t lower_, upper_, step_;
  std::optional<int64_t> count_;
  std::vector<int64_t> values_;  // those asked for so far
  int64_t next_up_, next_down_;
};

class Search {
 public:
  explicit Search(const Statement& statement);

  // Visits points by the sum of their distances from 0, then lexicographically, `limit` more of them. What it finds
  // first is the smallest counterexample there is.
  bool ascend(size_t limit);
  // Visits the corners of the domain and points at random, then makes what breaks the statement, now or before,
  // smaller.
  bool sample();
  // Visits every point. False where there are more than `limit` of them.
  bool exhaust(int64_t limit);
  // Tries one point, given as values of symbols().
  bool try_point(const std::vector<int64_t>& point);

  const std::vector<int>& symbols() const { return program_.symbols(); }
  bool found() const { return best_.has_value(); }
  Assignment counterexample() const;
  // The work of all points tried, in operations.
  size_t operations() const { return tried_ * (32 + program_.size()); }
  size_t points_tried() const { return tried_; }
  // Every point that exhaust visited had a value or was undefined, and one at least had a value.
  bool conclusive() const { return defined_ > 0 && overflowed_ == 0; }

 private:
  enum class Result : uint8_t { kHolds, kBroken, kNoValue };

  struct Node {
    int64_t cost;
    std::vector<int64_t> point;
    std::vector<size_t> positions;
    size_t axis;  // only this axis and later ones are stepped on from here, so that no point is met twice
    bool operator>(const Node& other) const { return cost != other.cost ? cost > other.cost : point > other.point; }
  };

  Result test(const std::vector<int64_t>& point);
  static int64_t cost_of(const std::vector<int64_t>& point);
  void keep(const std::vector<int64_t>& point);
  void shrink();

  Relation relation_;
  size_t num_given_;
  Program program_;
  std::vector<Axis> axes_;
  std::priority_queue<Node, std::vector<Node>, std::greater<>> frontier_;
  std::optional<std::vector<int64_t>> best_;
  size_t tried_ = 0, defined_ = 0, overflowed_ = 0;
};

}  // namespace thaw::dim
