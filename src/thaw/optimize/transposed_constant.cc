#include "thaw/optimize/transposed_constant.h"

#include <cstring>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr uint64_t kSmall = 1024;              // bytes that may be stored twice
constexpr uint64_t kMost = uint64_t{1} << 20;  // bytes that are moved at once

}  // namespace

bool can_transpose(const ir::Tensor& tensor, const ir::Value& value) {
  if (tensor.data_type == ir::DataType::kString) return false;
  const uint64_t bytes = tensor.num_bytes();
  const auto elements = static_cast<uint64_t>(tensor.num_elements());
  if (elements == 0 || bytes == 0 || bytes % elements != 0) return false;  // below 8 bits, packed
  return elements == 1 || bytes <= kSmall || (bytes <= kMost && is_read_once(value));
}

ir::Tensor transposed_constant(const ir::Tensor& tensor, const std::vector<int64_t>& order) {
  const size_t rank = order.size(), added = rank - tensor.dims.size();
  std::vector<int64_t> before(added, 1), dims;
  before.insert(before.end(), tensor.dims.begin(), tensor.dims.end());
  std::vector<int64_t> strides(rank, 1);
  for (size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * before[axis];
  for (const int64_t axis : order) dims.push_back(before[static_cast<size_t>(axis)]);
  const auto bytes = tensor.bytes();
  const auto count = static_cast<size_t>(tensor.num_elements()), size = bytes.size() / count;
  std::vector<std::byte> moved(bytes.size());
  std::vector<int64_t> place(rank, 0);
  for (size_t to = 0; to < count; ++to) {
    int64_t from = 0;
    for (size_t axis = 0; axis < rank; ++axis) from += place[axis] * strides[static_cast<size_t>(order[axis])];
    std::memcpy(moved.data() + to * size, bytes.data() + static_cast<size_t>(from) * size, size);
    for (size_t axis = rank; axis-- > 0;) {
      if (++place[axis] < dims[axis]) break;
      place[axis] = 0;
    }
  }
  return ir::Tensor::from_bytes({}, tensor.data_type, std::move(dims), std::move(moved));
}

}  // namespace thaw::optimizing
