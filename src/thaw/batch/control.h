// What If, Loop, Scan and SequenceMap share: samples in and out of a subgraph. Internal to batch/.
#pragma once

#include <string_view>

#include "thaw/batch/graph_batch.h"

namespace thaw::batch {

// The graph that an attribute holds; throws CannotBatch where there is none.
ir::Graph& graph_of(const ir::Node& node, std::string_view name);
// Whether samples reach output i of a graph, as it was before return_leading.
bool returns_samples(const State& state, const ir::Graph& graph, int i);
// Output i of a subgraph returns its value for every sample, in the leading form.
void return_leading(State& state, ir::Graph& graph, int i);
// Input `formal` of a body holds samples, and is given them by the node's operand.
void give_samples(State& state, NodeBatch& n, int operand, ir::Value* formal);
// The same for a value that goes around in a body, where samples reach it on the way.
void give_state(State& state, NodeBatch& n, int operand, ir::Value* formal);
// Output i of a body goes around to `formal`.
void return_state(State& state, ir::Graph& body, const ir::Value* formal, int i);

}  // namespace thaw::batch
