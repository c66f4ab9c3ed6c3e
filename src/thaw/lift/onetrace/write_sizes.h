// Writing the expressions that a constant became as nodes.
#pragma once

#include "thaw/lift/onetrace/constants.h"
#include "thaw/ops/rule/fact.h"
#include "thaw/rewrite/dim_emitter.h"

namespace thaw::lifting::onetrace {

// Every use of the constant reads nodes that compute `sizes`, one an element, in the constant's form and type.
void write_sizes(const Constant& constant, const ops::Shape& sizes, rewrite::DimEmitter& emitter);

}  // namespace thaw::lifting::onetrace
