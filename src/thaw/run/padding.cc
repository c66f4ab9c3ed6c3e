#include "thaw/run/padding.h"

#include <cstring>

#include "thaw/core/error.h"

namespace thaw::run {

Padding::Padding(const Array& mask) {
  if (mask.is_string() || mask.dims.size() != 2)
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "is " + describe(mask), .where = "the mask", .expected = "ones and zeros of [batch, length]"});
  batch_ = mask.dims[0];
  length_ = mask.dims[1];
  const std::vector<double> values = to_doubles(mask);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0) kept_.push_back(static_cast<int64_t>(i));
}

bool Padding::covers(const Array& array) const {
  return !array.is_string() && array.dims.size() >= 2 && array.dims[0] == batch_ && array.dims[1] == length_ &&
         ir::bits_of(array.dtype) % 8 == 0;
}

Array Padding::without(const Array& array) const {
  std::vector<int64_t> dims(array.dims.begin() + 1, array.dims.end());
  dims[0] = static_cast<int64_t>(kept_.size());
  Array rows = Array::zeros(array.dtype, std::move(dims));
  const auto positions = static_cast<size_t>(batch_ * length_);
  const size_t row = positions == 0 ? 0 : array.bytes.size() / positions;
  for (size_t i = 0; i < kept_.size(); ++i)
    std::memcpy(rows.bytes.data() + i * row, array.bytes.data() + static_cast<size_t>(kept_[i]) * row, row);
  return rows;
}

std::vector<int64_t> Padding::index_of(std::vector<int64_t> index) const {
  if (index.empty()) return index;
  const int64_t at = kept_[static_cast<size_t>(index.front())];
  index.front() = at % length_;
  index.insert(index.begin(), at / length_);
  return index;
}

}  // namespace thaw::run
