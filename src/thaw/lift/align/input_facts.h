// Inference over a model's inputs in the variables of its traces. Internal to lift/.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "thaw/infer/infer.h"

namespace thaw::lifting {

// shapes: of inputs; what is not known of one leaves it as it is declared.
inline infer::InferOptions with_shapes(const std::unordered_map<const ir::Value*, ops::Shape>& shapes) {
  infer::InferOptions options;
  for (const auto& [input, shape] : shapes)  // any order: each is set for itself
    if (std::ranges::all_of(shape, &dim::Dim::is_known))
      options.inputs[input] = ops::Fact::tensor(input->type.elem_type, shape);
  return options;
}

}  // namespace thaw::lifting
