// Where a number that no computation reaches stands for infinity: in what a softmax sees, and comparisons, and maxima.
#pragma once

#include <unordered_set>

#include "thaw/ir/graph/graph.h"

namespace thaw::quantizing {

class Masks {
 public:
  explicit Masks(const ir::Graph& graph) { follow(graph, true); }

  // Whether what the node makes of the operand's numbers comes to where any that is large enough does the same.
  bool reach(const ir::Node& node, int input) const;

 private:
  void follow(const ir::Graph& graph, bool is_main);
  bool leads_on(const ir::Node& node, bool is_main) const;

  std::unordered_set<const ir::Node*> leading_;  // nodes whose results come there
};

}  // namespace thaw::quantizing
