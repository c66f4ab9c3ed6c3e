// Which values have numbers of one sign alone: behind a Relu, a Sigmoid, a square, and what moves or sums those.
#pragma once

#include <unordered_map>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/magnitude.h"

namespace thaw::quantizing::blocks {

class InputSigns {
 public:
  // Of the graph and of graphs inside it, by the operators' rules of magnitudes.
  explicit InputSigns(const ir::Graph& graph) { follow(graph); }

  bool is_one_sided(const ir::Value* value) const { return of(value).sign != ops::Sign::kAny; }

 private:
  class Context;
  void follow(const ir::Graph& graph);
  ops::Magnitude of(const ir::Value* value) const;

  std::unordered_map<const ir::Value*, ops::Magnitude> made_;
};

}  // namespace thaw::quantizing::blocks
