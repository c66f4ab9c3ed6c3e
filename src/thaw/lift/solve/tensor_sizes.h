// The sizes that tensors have: what convolutions, pools and slices make of the sizes of the inputs.
//
// A trace writes them into later nodes: a Reshape's 19 is the length of what a chain of convolutions gives. Inference
// knows it as an expression, which no search over simple ones would find.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/lift/align/traces.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::lifting {

// The plainest expression of the variables, and those of other tensors that are as large in every trace.
struct TensorSize {
  dim::Dim dim;
  std::vector<dim::Dim> others = {};
};

// By the value in each trace.
using TensorSizes = std::map<std::vector<int64_t>, TensorSize>;

// By how long something is that is joined of pieces, in each trace: how long these are, one after the other.
using JoinedSizes = std::map<std::vector<int64_t>, std::vector<std::vector<int64_t>>>;

// By value of the first trace's model, where each of its sizes is known and is what the traces have.
using TensorShapes = std::unordered_map<const ir::Value*, ops::Shape>;

// The sizes of an axis of a node's output in each trace; nullopt where they are not known, or the traces lack the node.
using SizesInTraces = std::function<std::optional<std::vector<int64_t>>(const ir::Node*, int output, size_t axis)>;

// in_traces: may be empty. An expression that comes to something else there follows from what is frozen, and is none.
// shapes: may be null; those that are known replace what is there.
TensorSizes sizes_of_tensors(const std::vector<Trace>& traces, std::span<const Variable> variables, dim::Scope& scope,
                             const SizesInTraces& in_traces = {}, TensorShapes* shapes = nullptr);

// An integer's value in the model as it was written: by the name of the tensor that holds it.
using WrittenSizes = std::vector<std::pair<std::string, dim::Dim>>;

}  // namespace thaw::lifting
