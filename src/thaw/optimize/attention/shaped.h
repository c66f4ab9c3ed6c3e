// Values of a rewrite in the making, each with its shape: the facts of new nodes come when the patch is applied.
#pragma once

#include <optional>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ops/rule/emit.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {

struct Shaped {
  ir::Value* value = nullptr;
  ops::Shape dims = {};
  ir::DataType dtype = ir::DataType::kUndefined;

  int rank() const { return static_cast<int>(dims.size()); }
  dim::Dim dim(int axis) const { return dims[static_cast<size_t>(axis)]; }
  dim::Dim from_back(int back) const { return dims[dims.size() - static_cast<size_t>(back)]; }  // 1: the last
};

// nullopt where the rank is not known.
std::optional<Shaped> shaped(ir::Value* value, const infer::Inference& facts);
// A Transpose before it becomes one with this one; none is written where the axes stay.
Shaped transposed(const ops::Emit& at, const Shaped& x, const std::vector<int64_t>& permutation);
Shaped squeezed(const ops::Emit& at, const Shaped& x, int64_t axis);
Shaped unsqueezed(const ops::Emit& at, const Shaped& x, int64_t axis);
Shaped reshaped(const ops::Emit& at, const Shaped& x, const std::vector<int64_t>& target, ops::Shape dims);

}  // namespace thaw::optimizing
