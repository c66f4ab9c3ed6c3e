// Traces that are only compared with, while the others are lifted.
#pragma once

#include <functional>
#include <vector>

#include "thaw/lift/align/traces.h"
#include "thaw/lift/unknowns/attempt.h"

namespace thaw::lifting {

// Away as long as this lives. They come back behind the others.
class Aside {
 public:
  Aside(std::vector<Trace>& traces, const std::vector<size_t>& which);
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  ~Aside();

 private:
  std::vector<Trace>& traces_;
  std::vector<Trace> kept_;
};

// Evens the traces out and lifts them. Small tables are folded by exporters with all that they are made of, weights too, and at a larger
// size left to the graph. Where even all traces then leave something open, those that were folded furthest are set aside as long as
// the others are two or more, and these are lifted where nothing that was learned has to be folded in them.
Attempt lift_evened(std::vector<Trace>& traces, const std::function<Attempt()>& lift_even);

}  // namespace thaw::lifting
