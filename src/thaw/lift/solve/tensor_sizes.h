// The sizes that tensors have: what convolutions, pools and slices make of the sizes of the inputs.
//
// A trace writes them into later nodes: a Reshape's 19 is the length of what a chain of convolutions gives. Inference
// knows it as an expression, which no search over simple ones would find.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// By the value in each trace: the plainest expression of the variables.
using TensorSizes = std::map<std::vector<int64_t>, dim::Dim>;

// The sizes of an axis of a node's output in each trace; nullopt where they are not known, or the traces lack the node.
using SizesInTraces = std::function<std::optional<std::vector<int64_t>>(const ir::Node*, int output, size_t axis)>;

// in_traces: may be empty. An expression that comes to something else there follows from what is frozen, and is none.
TensorSizes sizes_of_tensors(const std::vector<Trace>& traces, std::span<const Variable> variables, dim::Scope& scope,
                             const SizesInTraces& in_traces = {});

}  // namespace thaw::lifting
