// AWQ (Lin et al. 2023): weights that meet large inputs are scaled up before they are rounded, and the inputs down.
//
//   for each group of products that read one value x, with one BlockFormat:
//     const RowScaling chosen = awq_scales(weights_of(nodes), format, statistics of x, importance);
//     if (chosen.scales) divide_input(model, facts, x, nodes, *chosen.scales);
//     each node: converter.convert(…, chosen)
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/importance.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/blocks/weight_matrix.h"

namespace thaw::quantizing::blocks {

struct RowScaling {
  // What each position of k is multiplied by, in all of the weights, which are products' with the same x. Null: by 1.
  std::shared_ptr<const std::vector<float>> scales;
  bool by_importance = true;  // errors count by `importance` when the blocks' scales are searched
};

// Its mean magnitude to the power of the grid (0 to 1, by twentieths) at which the outputs are off the least over the
// samples, once `search` has found the blocks' scales, with and without importance.
// Where the statistics have kept rows or products, the error is the outputs' own, of some of the columns; else inputs are
// taken not to go along with each other. `importance`: may be empty, all alike.
RowScaling awq_scales(std::span<const WeightMatrix> weights, const BlockFormat& format,
                      const ColumnStatistics& statistics, const Importance& importance);

// What `nodes` read as `x` is divided by `scales` along its last axis: in the constant operands of the normalization or
// Mul that makes x, where nothing else reads it; else by a Mul that they read instead. Facts are brought up to date.
// x must be float32, float16 or bfloat16.
void divide_input(ir::Model& model, infer::Inference& facts, ir::Value* x, std::span<ir::Node* const> nodes,
                  const std::vector<float>& scales);

}  // namespace thaw::quantizing::blocks
