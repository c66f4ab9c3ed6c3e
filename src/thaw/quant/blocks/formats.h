// Which blocks there are: of how many bits and weights, in which form, by which method.
#pragma once

#include <cstdint>
#include <string>

#include "thaw/convert.h"

namespace thaw::quantizing::blocks {

// Why no weight can have such blocks, as a clause; empty where some can.
std::string why_not(int bits, const BlockOptions& options);
// The opset of ai.onnx that a model needs for such blocks.
int64_t opset_needed(int bits, const BlockOptions& options);

}  // namespace thaw::quantizing::blocks
