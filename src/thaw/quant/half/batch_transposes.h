// What ONNX Runtime 1.31 ends with SIGSEGV on while it loads a model in float16, written otherwise.
//
// Its MatmulTransposeFusion makes FusedMatMul's transBatchA or transBatchB of a Transpose that puts the first axis last or next to
// last. In float16, beside a constant that has fewer axes, the process ends. Given as many axes, all of 1, the constant means the same
// to MatMul.
#pragma once

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

// Of MatMuls in float16, in the graphs inside too. Returns how many constants were given axes.
int give_axes_to_constants(ir::Model& model);

}  // namespace thaw::quantizing
