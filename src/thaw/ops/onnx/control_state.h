// What a Loop carries from one iteration to the next: the facts that hold in every iteration.
#pragma once

#include <span>
#include <vector>

#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

// Goes down from the initial facts to facts that an iteration keeps. Each step joins, size by size: where one axis
// changes, the others stay. What moves on from value to value (an offset, the cache that it cuts, what is made of the
// cache) takes a step each; after a few, what still changes is given up: elements first, then sizes, rank, and in the
// end everything. So a fixpoint is met in at most ten steps.
class StateFixpoint {
 public:
  explicit StateFixpoint(std::vector<Fact> initial) : state_(std::move(initial)) {}
  const std::vector<Fact>& state() const { return state_; }
  // Takes what an iteration on `state()` left; true when the state holds after it too.
  bool advance(std::span<const Fact> after);

 private:
  std::vector<Fact> state_;
  int step_ = 0;
};

}  // namespace thaw::ops
