// Whether a Loop goes on, as far as its body's nodes and constants say.
#pragma once

#include "thaw/ir/graph/graph.h"

namespace thaw::ops {

// Whether a constant that no caller may replace is the one condition that holds.
bool is_true(const ir::Value* value);
// Behind Identity, which a body writes where it returns one value twice.
const ir::Value* behind_identities(const ir::Value* value);
// Whether a Loop's body passes its condition, its second input and first output, on as it is, or returns true.
bool goes_on(const ir::Graph& body);

// Whether a Loop's body declares its iteration number (input 0) or condition (input 1) as a list of one, not a scalar: ONNX Runtime
// gives it either.
bool takes_list_of_one(const ir::Graph& body, size_t index);

}  // namespace thaw::ops
