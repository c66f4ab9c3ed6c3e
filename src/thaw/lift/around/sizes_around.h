// What stands around a constant: the sizes of what its node reads, and what its readers cut by. Internal to lift/.
#pragma once

#include <span>

#include "thaw/lift/around/given_back.h"
#include "thaw/lift/around/traced_shapes.h"
#include "thaw/lift/steps.h"

namespace thaw::lifting {

class SizesAround {
 public:
  explicit SizesAround(Lifting& lifting) : shapes_(lifting), given_back_(shapes_) {}
  SizesAround(const SizesAround&) = delete;
  SizesAround& operator=(const SizesAround&) = delete;

  const TracedShapes& shapes() const { return shapes_; }

  // Has the context know them for what stands at an operand.
  void tell(const Difference& difference, TableContext& context) const;

  // Behind what is still frozen, no expression is taken for a size: one may hold in all traces and nowhere else, as the
  // smaller of a size and the largest trace's. solved: what stands there no more.
  SizesInTraces in_traces(std::span<const FittedTable> solved) const;

  // Whether a shape is given to data whose sizes are not known yet.
  bool waits(const Difference& difference) const;

 private:
  // The axes of an operand, and those of its sizes that differ between the traces.
  void add(Around& around, size_t place, int input) const;
  // What a shape makes of the node's data.
  void tell_of_shape(size_t place, Around& around) const;

  TracedShapes shapes_;
  GivenBack given_back_;
};

}  // namespace thaw::lifting
