// What is computed or stored twice, once; what is there anyway, not at all.
#pragma once

#include "thaw/infer/inference.h"
#include "thaw/optimize/site.h"
#include "thaw/rewrite/pass.h"

namespace thaw::optimizing {

// Nodes that compute the same from the same: one pass, values numbered by their operator, operands and attributes. In a
// subgraph, what the graphs around it have computed before counts too. Random numbers, and nodes that hold graphs or
// whose operator Thaw does not know, are left. Returns how many went.
int share_nodes(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// Constants of one type, shape and bytes, but for those of `keep`. Bytes are looked at only where type and shape are those
// of another.
int share_constants(ir::Model& model, infer::Inference& facts, const Constants& keep, rewrite::Changes& changes);
// Of a model of which nothing is inferred yet.
int share_constants(ir::Model& model, const Constants& keep, rewrite::Changes& changes);

// Zeros that a recurrence begins with (initial_h, initial_c) are left out: it begins with them anyway. Returns how many went.
int drop_zero_states(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

// Small integer tensors that are the same expressions of the inputs' sizes, however they are computed: the first is
// kept.
int share_sizes(ir::Model& model, infer::Inference& facts, rewrite::Changes& changes);

}  // namespace thaw::optimizing
