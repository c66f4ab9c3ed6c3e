// The surgery behind thaw/batch.h: a walk over the graph that asks each operator's batch rule.
#pragma once

#include "thaw/batch.h"
#include "thaw/ir/graph/model.h"

namespace thaw::batching {

// Changes the model in place; BatchOptions::check and ::feeds are for the caller (confirm/samples.h). Throws thaw::Error,
// naming the node and the reason, where it cannot be batched; the model is then as it was.
BatchReport batch(ir::Model& model, const BatchOptions& options);

// Of a model that is not batched yet: the inputs of a sample by which an If goes one way or the other, with the If, and which inputs
// to choose instead.
std::vector<Note> deciding_inputs(const ir::Model& model, const BatchOptions& options);

}  // namespace thaw::batching
