// What the inputs of products hold, over samples: sums over their rows, and nothing else is kept.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/blocks/statistics.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

using InputStatistics = std::map<std::string, blocks::ColumnStatistics, std::less<>>;

// Of the tensors of the main graph with these names, each [..., width]. `with_products`: x^T x too, 4 * width^2 bytes each.
// Throws thaw::Error where the model does not run on a sample, or a tensor is of another width on one.
InputStatistics input_statistics(const ir::Model& model, const std::vector<std::string>& names, bool with_products,
                                 const Samples& samples);

}  // namespace thaw::quantizing
