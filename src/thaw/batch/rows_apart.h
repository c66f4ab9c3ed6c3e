// Whether a model treats the rows of its inputs apart: it then is over a batch already. Internal to batch/.
#pragma once

#include <span>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"

namespace thaw::batching {

// Follows the first axis of `inputs`, which have it in common, through every node that reads them. True where it is kept
// all the way (ops/rule/axes.h): no position of it meets another, nothing else has a number for each of them, and every
// output that it reaches has it first. A node whose axes are not known, or one with graphs, is taken to mix them.
bool are_rows_apart(const ir::Model& model, const infer::Result& facts, std::span<ir::Value* const> inputs);

}  // namespace thaw::batching
