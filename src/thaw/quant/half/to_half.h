// A model that computes in 16 bits where it can.
//
// Types are inferred, node by node (typed_operands.h); what loses too much stays in float32 (float32_fallback.h), and so does what lies
// between where that takes fewer Casts (fewest_casts.h). Sizes, names and the order of inputs and outputs stay.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/ops/target/target.h"
#include "thaw/quant/half/float32_fallback.h"
#include "thaw/quant/samples/samples.h"
#include "thaw/rewrite/pass.h"

namespace thaw::quantizing {

struct HalfOptions {
  ir::DataType to = ir::DataType::kFloat16;          // or kBfloat16
  bool convert_io = false;                           // inputs and outputs of float32 have the type too
  std::function<bool(const ir::Node&)> wanted = {};  // of the main graph and of those inside; none: every node
  SeenRanges seen = {};                              // what values were seen to hold; empty: rules decide
  bool seen_decides = true;                          // instead of the rules; else beside them
  // What it has kernels of the type for: other nodes stay in float32. Null: any.
  const ops::Target* target = nullptr;
  Remembered* known = nullptr;  // what became of weights in earlier conversions of the model; null: nothing is kept
};

// Changes: by node, with the type as their kind; left: what stays in float32, and why. `warnings`: weights that are not
// finite, or vanish. Where it throws, the model is as it was. Returns how many nodes have the type then.
int to_half(rewrite::PassContext& context, const HalfOptions& options, std::vector<std::string>& warnings);

}  // namespace thaw::quantizing
