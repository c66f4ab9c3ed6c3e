// Shapes that give back what was there before. Internal to lift/.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "thaw/lift/around/traced_shapes.h"

namespace thaw::lifting {

// Whether it interpolates.
bool resizes(const ir::Node& node);

class GivenBack {
 public:
  explicit GivenBack(const TracedShapes& shapes);

  // By a Reshape, of which the sizes of the result are `made` and its elements are so many: what was as large in every trace, and was made into
  // the shape of this node's data before. Empty where there is none, or two that inference tells apart.
  ops::Shape by_reshape(size_t place, const TracedAxes& made, dim::Dim elements) const;
  // By a Resize: the sizes that one before it was given, whose result was as large as this one's data.
  ops::Shape by_resize(size_t place) const;

 private:
  using Places = std::map<std::pair<TracedAxes, TracedAxes>, std::vector<size_t>>;

  // The shape of the data of those before the place, of which `counts` holds; empty where there are none, or two that differ.
  template <typename Counts>
  ops::Shape data_before(const Places& places, const std::pair<TracedAxes, TracedAxes>& key, size_t place,
                         const Counts& counts) const;

  const TracedShapes& shapes_;
  Places reshapes_, resizes_;  // by the sizes of the data and of the result, in the traces
};

}  // namespace thaw::lifting
