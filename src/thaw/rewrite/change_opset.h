// A model in another opset of ai.onnx: each node in the form that it has there, the same numbers up to rounding.
//
// Most operators change by the types that they take, by attributes that may be left out, or by attributes that become
// operands: ONNX's schemas tell. What means something else under the same name, and how an operator is written where there
// is none yet, an operator's entry says (ops/rule/adapter.h).
#pragma once

#include <cstdint>

#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

// The oldest opset that a model is taken down to.
inline constexpr int64_t kOldestAimedAt = 18;

// Changes the main graph and the graphs inside its nodes; functions keep the opset that they import. Nothing happens where
// the model has that opset. Throws thaw::Error (kInvalidArgument) where there is no such opset or it is older than
// kOldestAimedAt, and naming the node, where one has no equal there; the model is then as it was.
// What was known of the model is forgotten.
void change_opset(PassContext& context, int64_t opset);

}  // namespace thaw::rewrite
