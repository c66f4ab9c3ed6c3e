#include "thaw/optimize/norm_parameters.h"

#include <algorithm>
#include <numeric>

#include "thaw/ir/data/floats.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kMostListed = 16;  // elements of a constant that takes no more room than the node that would make it

bool has_one_element(const ir::Tensor& tensor) {
  return std::ranges::all_of(tensor.dims, [](int64_t dim) { return dim == 1; });
}

// One element of a floating-point type.
ir::Tensor single(double number, ir::DataType type) {
  const auto wide = static_cast<float>(number);
  ir::Tensor tensor = ir::Tensor::from_float({}, {1}, std::span(&wide, 1));
  if (type == ir::DataType::kFloat) return tensor;
  // 0 and 1 in 16 bits; no other number is asked for.
  if (!(number == 0 || number == 1)) throw ops::CannotWrite{"that takes a number of another type than float32"};
  uint16_t bits = 0;
  if (number == 1) bits = type == ir::DataType::kFloat16 ? 0x3C00 : 0x3F80;
  std::vector<std::byte> bytes{static_cast<std::byte>(bits & 0xFF), static_cast<std::byte>(bits >> 8)};
  return ir::Tensor::from_bytes({}, type, {1}, std::move(bytes));
}

}  // namespace

std::optional<std::vector<int64_t>> constant_dims(const ops::Fact& data, AxisRange axes) {
  std::vector<int64_t> dims;
  for (int axis = axes.first; axis < axes.first + axes.count; ++axis) {
    const auto size = data.dim(axis).constant();
    if (!size) return std::nullopt;
    dims.push_back(*size);
  }
  return dims;
}

bool lies_along(const ops::Fact& parameter, const ops::Fact& data, AxisRange axes) {
  const int rank = data.rank(), own = parameter.rank();
  if (own < 0 || rank < 0 || own > rank || own < rank - axes.first || parameter.dtype != data.dtype) return false;
  for (int i = 0; i < own; ++i) {
    const int axis = i + rank - own;
    const bool is_inside = axis >= axes.first && axis < axes.first + axes.count;
    if (is_inside ? !dim::same(parameter.dim(i), data.dim(axis)) : parameter.dim(i).constant() != 1) return false;
  }
  return true;
}

ir::Value* as_dims(ir::Value* parameter, const ops::Fact& fact, const ops::Fact& data, AxisRange axes,
                   const ops::Emit& at) {
  if (fact.rank() == axes.count) return parameter;
  const auto dims = constant_dims(data, axes);
  if (!dims) throw ops::CannotWrite{"that takes parameters of known sizes"};
  const ir::Tensor* tensor = constant_of(parameter);
  if (!tensor || !is_read_once(*parameter) || !parameter->initializer()) return at.reshape(parameter, at.list(*dims));
  ir::Tensor flat = *tensor;
  flat.dims = *dims;
  return at.writer().constant(std::move(flat));
}

ir::Value* filled(double number, std::vector<int64_t> dims, ir::DataType type, const ops::Emit& at) {
  const bool is_half = type == ir::DataType::kFloat16 || type == ir::DataType::kBfloat16;
  if (type != ir::DataType::kFloat && !is_half) throw ops::CannotWrite{"that takes a floating-point type"};
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  if (type == ir::DataType::kFloat && count <= kMostListed)
    return at.floats(dims, std::vector<float>(static_cast<size_t>(count), static_cast<float>(number)));
  if (type == ir::DataType::kBfloat16 && at.writer().opset() < 20)
    throw ops::CannotWrite{"that takes ConstantOfShape of bfloat16, as from opset 20 on"};
  return at.emit("ConstantOfShape", {at.list(dims)}, {{"value", std::make_shared<ir::Tensor>(single(number, type))}});
}

bool is_filled_with(const ir::Value* value, double number) {
  if (!value) return false;
  const ir::Tensor* tensor = constant_of(value);
  const ir::Node* node = value->producer();
  const ir::Attribute* fill = !tensor && node && node->domain().empty() ? node->attribute("value") : nullptr;
  if (fill && fill->as<std::shared_ptr<ir::Tensor>>()) tensor = fill->as<std::shared_ptr<ir::Tensor>>()->get();
  if (!tensor || !(tensor->num_elements() <= 4096) || !ir::is_floating(tensor->data_type)) return false;
  if (fill && !has_one_element(*tensor)) return false;
  const std::vector<double> numbers = tensor->to_double();
  return !numbers.empty() && std::ranges::all_of(numbers, [&](double one) { return one == number; });
}

}  // namespace thaw::optimizing
