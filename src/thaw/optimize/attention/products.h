// Products of matrices however they are written, and numbers that are computed from sizes that never change.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "thaw/optimize/attention/shaped.h"

namespace thaw::optimizing {

// scale * left right, with the axes before the last two in their places; then its axes `transposed`, where there are any.
struct MatrixProduct {
  Shaped left, right;  // [..., m, k], [..., k, n]
  double scale = 1;
  std::vector<int64_t> transposed = {};
};

// Of the last two axes; a Transpose says nothing of its permutation where it turns all axes round.
bool swaps_last_two(const std::vector<int64_t>& permutation, int rank);
Shaped with_last_two_swapped(const ops::Emit& at, const Shaped& x);

// Operators that products of matrices are written with.
bool may_be_matrix_product(const ir::Node& node);
// nullopt where the node is none. It may write Transposes.
std::optional<MatrixProduct> matrix_product(const ir::Node& node, const infer::Inference& facts, const ops::Emit& at);

// The number that a value of one element is at every size: a constant, or computed from constants and the sizes that are
// numbers (a root of the width of a head).
std::optional<double> scalar_of(const ir::Value* value, const infer::Inference& facts, int depth = 8);

// A value as a number times another value of its shape.
struct ScaledValue {
  ir::Value* value = nullptr;
  double scale = 1;
};
ScaledValue without_scale(ir::Value* value, const infer::Inference& facts);

}  // namespace thaw::optimizing
