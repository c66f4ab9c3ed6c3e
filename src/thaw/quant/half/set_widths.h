// What chosen nodes become: their operands of the type, with Casts where a value or a constant has the other width.
#pragma once

#include <vector>

#include "thaw/quant/half/half_nodes.h"

namespace thaw::quantizing {

// Those that are narrow get operands of options.to, all others of float32; what a graph returns is what it was, but for the main one's
// where options.convert_io. Constants that nothing reads as they were go, and their names with them.
void set_widths(ir::Model& model, const HalfOptions& options, const infer::Result& facts, Float32Fallback& fallback,
                const std::vector<HalfCandidate>& candidates);

}  // namespace thaw::quantizing
