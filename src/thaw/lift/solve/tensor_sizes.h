// The sizes that tensors have: what convolutions, pools and slices make of the sizes of the inputs.
//
// A trace writes them into later nodes: a Reshape's 19 is the length of what a chain of convolutions gives. Inference
// knows it as an expression, which no search over simple ones would find.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// By the value in each trace: the plainest expression of the variables.
using TensorSizes = std::map<std::vector<int64_t>, dim::Dim>;

TensorSizes sizes_of_tensors(const std::vector<Trace>& traces, std::span<const Variable> variables, dim::Scope& scope);

}  // namespace thaw::lifting
