#include "thaw/optimize/attention/shaped.h"

#include <algorithm>

namespace thaw::optimizing {
namespace {

Shaped plainly_squeezed(const ops::Emit& at, const Shaped& x, int64_t axis) {
  Shaped result = x;
  result.value = at.squeeze(x.value, {axis});
  result.dims.erase(result.dims.begin() + axis);
  return result;
}

}  // namespace

std::optional<Shaped> shaped(ir::Value* value, const infer::Inference& facts) {
  if (!value) return std::nullopt;
  const ops::Fact& fact = facts.fact(value);
  if (!fact.is_tensor() || !fact.has_rank()) return std::nullopt;
  return Shaped{value, *fact.shape, fact.dtype};
}

Shaped transposed(const ops::Emit& at, const Shaped& x, const std::vector<int64_t>& permutation) {
  Shaped result{x.value, {}, x.dtype};
  for (const int64_t axis : permutation) result.dims.push_back(x.dim(static_cast<int>(axis)));
  std::vector<int64_t> all = permutation;
  if (const ir::Node* before = producer_of(x.value, "Transpose")) {
    const auto given = before->attribute_ints("perm");
    if (given.size() == all.size()) {
      for (int64_t& axis : all) axis = given[static_cast<size_t>(axis)];
      result.value = before->input(0);
    }
  }
  if (!std::ranges::is_sorted(all)) result.value = at.transpose(result.value, all);
  return result;
}

Shaped squeezed(const ops::Emit& at, const Shaped& x, int64_t axis) {
  if (const ir::Node* before = producer_of(x.value, "Transpose")) {
    // The Transpose after the Squeeze, where it finds others to go with.
    const auto given = before->attribute_ints("perm");
    if (given.size() != x.dims.size()) return plainly_squeezed(at, x, axis);
    const int64_t from = given[static_cast<size_t>(axis)];
    Shaped inner{before->input(0), ops::Shape(x.dims.size()), x.dtype};
    std::vector<int64_t> order;
    for (size_t i = 0; i < given.size(); ++i) {
      inner.dims[static_cast<size_t>(given[i])] = x.dims[i];
      if (given[i] != from) order.push_back(given[i] > from ? given[i] - 1 : given[i]);
    }
    return transposed(at, plainly_squeezed(at, inner, from), order);
  }
  return plainly_squeezed(at, x, axis);
}

Shaped unsqueezed(const ops::Emit& at, const Shaped& x, int64_t axis) {
  Shaped result = x;
  result.value = at.unsqueeze(x.value, {axis});
  result.dims.insert(result.dims.begin() + axis, dim::Dim(1));
  return result;
}

Shaped reshaped(const ops::Emit& at, const Shaped& x, const std::vector<int64_t>& target, ops::Shape dims) {
  return {at.reshape(x.value, at.list(target)), std::move(dims), x.dtype};
}

}  // namespace thaw::optimizing
