// Batch rules of operators that hold graphs; in batch_control.cc and batch_loop.cc.
#pragma once

#include "thaw/ops/rule/batch.h"

namespace thaw::ops {

void batch_if(BatchContext& n);
void batch_loop(BatchContext& n);
void batch_scan(BatchContext& n);
void batch_sequence_map(BatchContext& n);

}  // namespace thaw::ops
