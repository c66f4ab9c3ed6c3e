// What the inputs of products hold, over samples: sums over their rows, and nothing else is kept.
#pragma once

#include <map>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/samples/inner_values.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

using InputStatistics = std::map<ValueLocation, blocks::ColumnStatistics>;

// Of these tensors, each [..., width], which no Loop or Scan makes. `with_products`: x^T x too, 4 * width^2 bytes each. None of a
// tensor inside a branch that no sample takes. Throws thaw::Error where the model does not run on a sample, or a tensor is of another width on one.
InputStatistics input_statistics(const ir::Model& model, const std::vector<ValueLocation>& locations,
                                 bool with_products, const Samples& samples);

}  // namespace thaw::quantizing
