// The walk over a graph and its branches, node by node. Internal to batch/.
#pragma once

#include "thaw/batch/node_batch.h"

namespace thaw::batch {

// Batches every node from `first` on that a sample reaches, in order. Throws thaw::Error, naming the node, where one
// cannot.
void batch_graph(State& state, ir::Graph& graph, ir::Node* first);

// A declared type without its axes, those of a sequence's items included.
void forget_shape(ir::Type& type);

// Runs the node once for each sample, in a Scan over the batch axis. Results must have the same shape for all samples.
void run_per_sample(NodeBatch& n);

}  // namespace thaw::batch
