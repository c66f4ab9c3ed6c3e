// The nodes of a model that a precision is for, one by one.
#pragma once

#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing {

// Names as a plan has them, in the model's order, each once. Of formats of weights, nodes with a weight; of 16 bits, what
// contracts and computes in them where all nodes may. Some may turn out to stay when they are converted.
// `model` as convert() leaves it before it converts: optimized, without functions. `samples`: null where there is no data.
std::vector<std::string> candidates(const ir::Model& model, const PrecisionOptions& precision, const Samples* samples);

// The constants that a node computes with as weights: not small integers such as shapes, but numbers of two axes or more. Those too
// that a Transpose, or what else reads constants alone, stands before.
std::vector<const ir::Value*> weights_of(const ir::Node& node);

}  // namespace thaw::quantizing
