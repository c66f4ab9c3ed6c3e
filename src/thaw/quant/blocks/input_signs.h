// Which values have numbers of one sign alone: behind a Relu, a Sigmoid, a square, and what moves or sums those.
#pragma once

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/magnitude_map.h"

namespace thaw::quantizing::blocks {

class InputSigns {
 public:
  // Of the graph and of graphs inside it, by the operators' rules of magnitudes.
  explicit InputSigns(const ir::Graph& graph);

  bool has_one_sign(const ir::Value* value) const { return made_.of(value).sign != ops::Sign::kAny; }

 private:
  class Context;
  ops::MagnitudeMap made_;
};

}  // namespace thaw::quantizing::blocks
