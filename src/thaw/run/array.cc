#include "thaw/run/array.h"

#include <algorithm>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/run/elements.h"

namespace thaw {
namespace {

using run::element_count;

void require_count(const std::vector<int64_t>& dims, size_t count) {
  const int64_t wanted = element_count(dims);
  if (static_cast<uint64_t>(wanted) != count) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "an array of " + std::to_string(count) + " elements does not fill its shape",
                 .expected = std::to_string(wanted) + " elements"});
  }
}

}  // namespace

int64_t Array::num_elements() const { return element_count(dims); }

Array Array::zeros(DataType dtype, std::vector<int64_t> dims) {
  Array array;
  array.dtype = dtype;
  array.dims = std::move(dims);
  const int64_t count = array.num_elements();
  if (array.is_string()) {
    array.strings.resize(static_cast<size_t>(count));
  } else {
    array.bytes.resize(run::packed_bytes(dtype, count));
  }
  return array;
}

Array Array::from_doubles(DataType dtype, std::vector<int64_t> dims, std::span<const double> values) {
  require_count(dims, values.size());
  Array array = zeros(dtype, std::move(dims));
  run::encode(dtype, values, array.bytes.data(), 0);
  return array;
}

Array Array::from_int64(DataType dtype, std::vector<int64_t> dims, std::span<const int64_t> values) {
  require_count(dims, values.size());
  Array array = zeros(dtype, std::move(dims));
  run::encode(dtype, values, array.bytes.data(), 0);
  return array;
}

Array Array::from_strings(std::vector<int64_t> dims, std::vector<std::string> values) {
  require_count(dims, values.size());
  Array array;
  array.dtype = DataType::kString;
  array.dims = std::move(dims);
  array.strings = std::move(values);
  return array;
}

std::vector<double> to_doubles(const Array& array) {
  std::vector<double> values(static_cast<size_t>(array.num_elements()));
  run::decode(array.dtype, array.bytes.data(), 0, std::span(values));
  return values;
}

std::vector<int64_t> to_int64s(const Array& array) {
  std::vector<int64_t> values(static_cast<size_t>(array.num_elements()));
  run::decode(array.dtype, array.bytes.data(), 0, std::span(values));
  return values;
}

namespace run {
namespace {

// Bits that one row along axis 0 takes; 0 for strings.
uint64_t row_bits(const Array& array) {
  const int64_t per_row = element_count(std::span(array.dims).subspan(1));
  return static_cast<uint64_t>(per_row) * static_cast<uint64_t>(ir::bits_of(array.dtype));
}

}  // namespace

int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "a dim of an array is " + std::to_string(dim), .expected = "sizes of 0 or more"});
    }
    empty = empty || dim == 0;
  }
  if (empty) return 0;
  for (int64_t dim : dims) {
    if (__builtin_mul_overflow(count, dim, &count)) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = "the dims of an array multiply past 64 bits", .expected = "an array that fits into memory"});
    }
  }
  return count;
}

Array cast(const Array& array, ir::DataType dtype) {
  if (array.dtype == dtype) return array;
  Array result = Array::zeros(dtype, array.dims);
  const auto exact = [](ir::DataType type) { return ir::is_integer(type) || type == ir::DataType::kBool; };
  const int64_t count = array.num_elements();
  constexpr int64_t kChunk = 4096;  // even, so that 4-bit chunks start on a byte
  std::vector<double> reals;
  std::vector<int64_t> integers;
  for (int64_t at = 0; at < count; at += kChunk) {
    const auto length = static_cast<size_t>(std::min(kChunk, count - at));
    if (exact(array.dtype) && exact(dtype)) {
      integers.resize(length);
      decode(array.dtype, array.bytes.data(), at, std::span(integers));
      encode(dtype, std::span<const int64_t>(integers), result.bytes.data(), at);
    } else {
      reals.resize(length);
      decode(array.dtype, array.bytes.data(), at, std::span(reals));
      encode(dtype, std::span<const double>(reals), result.bytes.data(), at);
    }
  }
  return result;
}

Array rows(const Array& array, int64_t begin, int64_t end) {
  if (array.dims.empty() || begin < 0 || end < begin || end > array.dims[0]) {
    throw Error(ErrorCode::kInvalidArgument, {.what = "rows " + std::to_string(begin) + " to " + std::to_string(end) +
                                                      " of " + describe(array) + " do not exist",
                                              .expected = "rows within axis 0"});
  }
  Array part;
  part.dtype = array.dtype;
  part.dims = array.dims;
  part.dims[0] = end - begin;
  const int64_t per_row = element_count(std::span(array.dims).subspan(1));
  if (array.is_string()) {
    part.strings.assign(array.strings.begin() + begin * per_row, array.strings.begin() + end * per_row);
    return part;
  }
  const uint64_t bits = row_bits(array);
  if (bits % 8 == 0) {
    const auto stride = static_cast<int64_t>(bits / 8);
    part.bytes.assign(array.bytes.begin() + begin * stride, array.bytes.begin() + end * stride);
    return part;
  }
  // Rows of 4-bit elements that end inside a byte.
  std::vector<double> values(static_cast<size_t>((end - begin) * per_row));
  decode(array.dtype, array.bytes.data(), begin * per_row, std::span(values));
  return Array::from_doubles(array.dtype, part.dims, values);
}

Array concat_rows(std::span<const Array> parts) {
  if (parts.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "there are no arrays to put together", .expected = "at least one"});
  Array result;
  result.dtype = parts[0].dtype;
  result.dims = parts[0].dims;
  bool whole_bytes = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Array& part = parts[i];
    const bool fits = part.dtype == result.dtype && part.dims.size() == result.dims.size() && !part.dims.empty() &&
                      std::equal(part.dims.begin() + 1, part.dims.end(), result.dims.begin() + 1);
    if (!fits) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = describe(part) + " does not fit after " + describe(parts[0]) + " along axis 0",
                   .expected = "arrays of one type whose other dims agree"});
    }
    if (i > 0) result.dims[0] += part.dims[0];
    if (!part.is_string()) whole_bytes = whole_bytes && (row_bits(part) * static_cast<uint64_t>(part.dims[0])) % 8 == 0;
  }
  if (!result.is_string() && !whole_bytes) {
    std::vector<double> values;
    for (const Array& part : parts) {
      const std::vector<double> more = to_doubles(part);
      values.insert(values.end(), more.begin(), more.end());
    }
    return Array::from_doubles(result.dtype, result.dims, values);
  }
  for (const Array& part : parts) {
    result.bytes.insert(result.bytes.end(), part.bytes.begin(), part.bytes.end());
    result.strings.insert(result.strings.end(), part.strings.begin(), part.strings.end());
  }
  return result;
}

Array stack(std::span<const Array> parts) {
  std::vector<Array> lifted(parts.begin(), parts.end());
  for (Array& part : lifted) part.dims.insert(part.dims.begin(), 1);
  return concat_rows(lifted);
}

std::string describe(ir::DataType dtype, std::span<const int64_t> dims) {
  std::string text = std::string(ir::name_of(dtype)) + "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(dims[i]);
  return text + "]";
}

std::string describe(const Array& array) { return describe(array.dtype, array.dims); }

}  // namespace run
}  // namespace thaw
