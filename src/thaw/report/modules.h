// A graph by module: "/layers/3/attn/MatMul" stands in "/layers/3/attn", "layers.3.attn.MatMul" in "layers.3.attn".
#pragma once

#include "thaw/check.h"
#include "thaw/ir/graph/model.h"

namespace thaw::report {

// Fills CheckReport::modules of the model that the report is of.
void sum_up_modules(const ir::Model& model, CheckReport& report);

}  // namespace thaw::report
