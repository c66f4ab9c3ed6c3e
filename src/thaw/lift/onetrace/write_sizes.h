// Writing the expressions that a constant became as nodes.
#pragma once

#include <unordered_map>

#include "thaw/lift/onetrace/constants.h"
#include "thaw/lift/onetrace/sizes.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::lifting::onetrace {

// The shapes of the model's inputs, as far as the sizes say them.
std::unordered_map<const ir::Value*, ops::Shape> input_shapes(const ir::Model& model, const Sizes& sizes);

// Where sizes that are values of inputs are read from.
void read_sizes(const ir::Model& model, const Sizes& sizes, rewrite::DimEmitter& emitter);

// Every use of the constant reads nodes that compute `sizes`, one an element, in the constant's form and type.
void write_sizes(const Constant& constant, const ops::Shape& sizes, rewrite::DimEmitter& emitter);

}  // namespace thaw::lifting::onetrace
