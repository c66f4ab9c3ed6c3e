// Shapes of matrix products, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <optional>

#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// numpy.matmul of inputs `a` and `b`, either transposed in its last two axes: batch axes broadcast, inner dims equal,
// vectors lose their axis again. nullopt when a rank is not known or 0.
std::optional<Shape> matmul_shape(Context& ctx, int a, int b, bool transpose_a = false, bool transpose_b = false);

// Gemm: matrices a and b, transposed or not, and c (input -1: none) broadcast to the product.
std::optional<Shape> gemm_shape(Context& ctx, int a, int b, int c, bool transpose_a, bool transpose_b);

// Einsum's rule; in einsum.cc.
void einsum_rule(Context& ctx);

}  // namespace thaw::ops
