// Sets of numbers that are joined (union-find; Tarjan and van Leeuwen 1984, paths halved).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace thaw {

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), size_t{0}); }

  // The smallest number of i's set: it stands for the set.
  size_t first_of(size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }

  // A set of one more number, which is returned.
  size_t add() {
    parents_.push_back(parents_.size());
    return parents_.size() - 1;
  }

  void join(size_t a, size_t b) {
    a = first_of(a);
    b = first_of(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parents_;
};

}  // namespace thaw
