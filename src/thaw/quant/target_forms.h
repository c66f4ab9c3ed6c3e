// What a target takes of the forms that `convert` writes: blocks, pairs of QuantizeLinear and DequantizeLinear, integer products.
#pragma once

#include <cstdint>

#include "thaw/convert.h"
#include "thaw/ops/target/planned_node.h"

namespace thaw::quantizing {

// How far the target takes what a precision writes, in a model of that opset of ai.onnx, or of the one that the form needs. Nodes
// that become float16 or bfloat16 are looked at one by one, in half/half_nodes.h.
ops::Taken how_taken(const ops::Target& target, const PrecisionOptions& precision, int64_t opset);

// Throws thaw::Error (kInvalidArgument) where the target does not take what a precision of the options writes.
void require_taken(const ops::Target& target, const ConvertOptions& options, int64_t opset);

// The precision with the forms that the target takes best: form and zero points of blocks, types and zero points of activations.
PrecisionOptions fitted(PrecisionOptions precision, const ops::Target& target);

}  // namespace thaw::quantizing
