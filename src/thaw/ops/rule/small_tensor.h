// Small tensors followed element by element: constant shape, at most kMaxElements elements. What moves elements
// (Gather, Slice, Transpose, …) computes its value rule here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "thaw/ops/rule/context.h"

namespace thaw::ops {

using ConstantShape = std::vector<int64_t>;

// A followed input; `elements` has exactly as many entries as the shape.
struct SmallTensor {
  ConstantShape shape;
  const Elements* elements;
  const Element& at(int64_t offset) const { return (*elements)[static_cast<size_t>(offset)]; }
};

// All dims, when every one is a constant and none is negative.
std::optional<ConstantShape> constant_shape(const std::optional<Shape>& shape);
// Number of elements, when it is at most kMaxElements.
std::optional<int64_t> small_count(std::span<const int64_t> shape);
// Input i when its elements are followed.
std::optional<SmallTensor> small_input(Context& ctx, int i);
// The elements of a constant as inference follows them: integers and truth values up to kMaxElements, a few floats. Null
// for others, and where the data cannot be read.
ElementsPtr small_elements(const ir::Tensor& tensor);
// The other way round: integers or truth values that are known to the last one; nullopt for others.
std::optional<ir::Tensor> known_numbers(const Fact& fact);
// Whether a tensor of that type and that many elements is followed.
bool is_followed(ir::DataType type, int64_t count);
// Row-major strides.
std::vector<int64_t> strides_of(std::span<const int64_t> shape);

// Calls f(index) for each index of the shape in row-major order. The shape must be small (small_count).
template <typename F>
void for_each_index(const ConstantShape& shape, F f) {
  for (int64_t d : shape)
    if (d == 0) return;
  std::vector<int64_t> index(shape.size(), 0);
  while (true) {
    f(index);
    size_t k = shape.size();
    while (k > 0 && ++index[k - 1] == shape[k - 1]) index[--k] = 0;
    if (k == 0) return;
  }
}

// The elements of a tensor of that shape, each element_at(index); nullopt when it is not small.
template <typename F>
std::optional<Elements> build_elements(const ConstantShape& shape, F element_at) {
  auto count = small_count(shape);
  if (!count) return std::nullopt;
  Elements out;
  out.reserve(static_cast<size_t>(*count));
  for_each_index(shape, [&](const std::vector<int64_t>& index) { out.push_back(element_at(index)); });
  return out;
}

// An index element as a position in [0, size), negative ones counted from the end; nullopt when not known or outside.
std::optional<int64_t> index_position(const Element& index, int64_t size);

int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> strides);

}  // namespace thaw::ops
