// Inputs that end a model with an error, and not with wrong numbers, where sizes are others than it is known for.
//
// A list of one number is given as many elements as it has where all is as it should be, and one more where it is not: a Reshape
// that no runtime and no device lets pass. (An index out of bounds alone is what a GPU's Gather need not report.) Its number, 0, is
// what each input is gathered by, so that nothing takes the Reshape away and every node that reads the input waits for it: the
// error is the guard's, and not that of a node which cannot be computed. Sizes are what they were, as far as inference is concerned.
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::rewrite {

class InputGuard {
 public:
  // What reads an input by now stands behind the guard: made before what emits sizes reads it.
  explicit InputGuard(ir::Model& model);
  InputGuard(const InputGuard&) = delete;
  InputGuard& operator=(const InputGuard&) = delete;

  // Inputs whose shapes have a symbol of the distances, or whose values they are read from, are guarded. False, and nothing is
  // guarded, where a distance, which has to be 0, cannot be computed in the graph.
  bool put(DimEmitter& sizes, std::span<const dim::Dim> distances,
           const std::unordered_map<const ir::Value*, ops::Shape>& input_shapes);

 private:
  std::vector<std::pair<ir::Value*, std::vector<ir::Use>>> readers_;
};

}  // namespace thaw::rewrite
