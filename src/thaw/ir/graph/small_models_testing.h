// Small models for tests that hold for any: layers one on the other, as exporters write them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thaw/ir/graph/builder.h"

namespace thaw::ir {

struct SmallModel {
  std::unique_ptr<Model> model;
  std::vector<std::string> layers;  // what each outputs, [first, n, 8] like the input; the last is the output "y"
};

// From the input "x" [first, n, 8] to the outputs "y" [first, n, 8] and "pooled" [first, 8], drawn by the seed: products with weights,
// norms, means and softmax along n and along the last axis, sums with earlier layers, heads by Reshape and Transpose, a Reshape whose
// target is computed.
SmallModel small_model(uint32_t seed, const DimSpec& first);

}  // namespace thaw::ir
