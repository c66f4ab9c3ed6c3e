// Shapes of matrix products, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <optional>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

// numpy.matmul of inputs `a` and `b`, either transposed in its last two axes: batch axes broadcast, inner dims equal,
// vectors lose their axis again. nullopt when a rank is not known or 0.
std::optional<Shape> matmul_shape(Context& ctx, int a, int b, bool transpose_a = false, bool transpose_b = false);

// Gemm: matrices a and b, transposed or not, and c (input -1: none) broadcast to the product.
std::optional<Shape> gemm_shape(Context& ctx, int a, int b, int c, bool transpose_a, bool transpose_b);

// Batch rules of products, and of products with more to them. Operands a and b are multiplied; those that follow each
// are one number, or one a column of b.
struct Product {
  int a = 0, b = 1;
  bool takes_vectors = false;
};
void batch_product(BatchContext& n, const Product& product);
// does_more: an activation follows, say, so that a MatMul is not the same.
void batch_gemm(BatchContext& n, bool does_more);

inline constexpr Axes kProductAxes =
    axes_by("... i k, ... k j -> ... i j | k, ... k j -> ... j | ... i k, k -> ... i | k, k -> ");
std::optional<AxesMap> gemm_axes(NodeView& view);  // by transA and transB

}  // namespace thaw::ops
