// Ifs that can only go one way, replaced by the branch that runs. Internal to batch/.
#pragma once

#include <span>

#include "thaw/ir/graph/model.h"

namespace thaw::batching {

// An If that samples from `inputs` reach goes one way where inference knows its condition; or where its branches return
// different ranks, and with one of them a node that always runs later could not run: a model in which
// `If(size == 1) Squeeze else Identity` is followed by an operator of fixed rank. Costs one inference a try, of which
// there are at most a few hundred.
void take_branches(ir::Model& model, std::span<ir::Value* const> inputs);

}  // namespace thaw::batching
