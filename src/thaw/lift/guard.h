// Values that were the same in every trace: what the model does at others is not told. Internal to lift/.
#pragma once

#include <span>

#include "thaw/lift/align/traces.h"
#include "thaw/lift/table/table_emitter.h"

namespace thaw::lift {

// Where sizes are read from the values of an input (grid_thw), and some of them never differed (one frame), every output
// of the lifted model ends with an error of Gather at any other, before a wrong number leaves it. To be called when all
// else is emitted.
void guard_untold_values(ir::Model& model, std::span<const Variable> variables, TableEmitter& emitter);

}  // namespace thaw::lift
