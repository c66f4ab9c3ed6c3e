#include "thaw/ops/rule/small_tensor.h"

#include "thaw/core/error.h"

namespace thaw::ops {

std::optional<ConstantShape> constant_shape(const std::optional<Shape>& shape) {
  if (!shape) return std::nullopt;
  ConstantShape out;
  out.reserve(shape->size());
  for (dim::Dim d : *shape) {
    auto v = d.constant();
    if (!v || *v < 0) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

std::optional<int64_t> small_count(std::span<const int64_t> shape) {
  // Sizes beside a 0 are held to the limit too: they are multiplied into strides.
  int64_t count = 1;
  bool empty = false;
  for (int64_t d : shape) {
    if (d < 0 || d > kMaxElements) return std::nullopt;
    empty = empty || d == 0;
    if (d > 0) count *= d;  // both factors are at most kMaxElements here
    if (count > kMaxElements) return std::nullopt;
  }
  return empty ? 0 : count;
}

bool is_followed(ir::DataType type, int64_t count) {
  constexpr int64_t kMaxFloats = 16;  // scales and scalars, not weights
  if (ir::is_integer(type) || type == ir::DataType::kBool) return count <= kMaxElements;
  return ir::is_floating(type) && count <= kMaxFloats;
}

ElementsPtr small_elements(const ir::Tensor& tensor) {
  const auto count = small_count(tensor.dims);
  if (!count || !is_followed(tensor.data_type, *count)) return nullptr;
  auto elements = std::make_shared<Elements>();
  elements->reserve(static_cast<size_t>(*count));
  try {
    if (ir::is_floating(tensor.data_type)) {
      for (const double v : tensor.to_double()) elements->push_back(Element::real(v));
    } else {
      // The one integer that no Dim holds stands for "from the beginning" in a Slice: a double holds it.
      for (const int64_t v : tensor.to_int64())
        elements->push_back(v == INT64_MIN ? Element::real(static_cast<double>(v)) : Element::integer(v));
    }
  } catch (const Error&) {
    return nullptr;  // the data is missing or damaged: its values are unknown, its shape is not
  }
  return elements->size() == static_cast<size_t>(*count) ? elements : nullptr;
}

std::optional<ir::Tensor> known_numbers(const Fact& fact) {
  if (!fact.is_tensor() || !fact.elements || !fact.has_rank()) return std::nullopt;
  std::vector<int64_t> dims, wide;
  for (const dim::Dim d : *fact.shape) dims.push_back(d.constant().value_or(-1));
  for (const Element& element : *fact.elements) {
    const auto number = element.as_int();
    if (!number) return std::nullopt;
    wide.push_back(*number);
  }
  const auto narrowed = [&]<typename T>(T) {
    std::vector<T> numbers(wide.begin(), wide.end());
    const auto bytes = std::as_bytes(std::span(numbers));
    return ir::Tensor::from_bytes({}, fact.dtype, std::move(dims), {bytes.begin(), bytes.end()});
  };
  switch (fact.dtype) {
    case ir::DataType::kInt64:
      return narrowed(int64_t{});
    case ir::DataType::kInt32:
      return narrowed(int32_t{});
    case ir::DataType::kBool:
      return narrowed(uint8_t{});
    default:
      return std::nullopt;
  }
}

std::optional<SmallTensor> small_input(Context& ctx, int i) {
  static const Elements kNoElements;
  const Elements* elements = ctx.elements(i);
  if (!elements && ctx.input(i).num_elements().is_constant(0))
    elements = &kNoElements;  // all of an empty tensor is known
  if (!elements) return std::nullopt;
  auto shape = constant_shape(ctx.input(i).shape);
  if (!shape) return std::nullopt;
  auto count = small_count(*shape);
  if (!count || static_cast<size_t>(*count) != elements->size()) return std::nullopt;
  return SmallTensor{std::move(*shape), elements};
}

std::vector<int64_t> strides_of(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    strides[k] = step;
    step *= shape[k];
  }
  return strides;
}

std::optional<int64_t> index_position(const Element& index, int64_t size) {
  auto v = index.as_int();
  if (!v) return size == 1 ? std::optional<int64_t>(0) : std::nullopt;
  int64_t at = *v < 0 ? *v + size : *v;
  if (at < 0 || at >= size) return std::nullopt;
  return at;
}

int64_t offset_of(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t k = 0; k < index.size(); ++k) offset += index[k] * strides[k];
  return offset;
}

}  // namespace thaw::ops
