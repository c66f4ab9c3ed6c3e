#include "thaw/ir/data/tensor_decode.h"

#include <cstring>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/small_float.h"
#include "thaw/ir/data/floats.h"

namespace thaw::ir {
namespace {

template <typename T>
T element_at(std::span<const std::byte> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// Element i of a type of fewer than 8 bits.
uint32_t load_bits(std::span<const std::byte> bytes, size_t i, unsigned width) {
  const size_t bit = i * width;
  uint32_t pair = static_cast<uint32_t>(bytes[bit / 8]);
  if (bit / 8 + 1 < bytes.size()) pair |= static_cast<uint32_t>(bytes[bit / 8 + 1]) << 8;
  return pair >> bit % 8 & ((1u << width) - 1);
}

int64_t sign_extend(uint32_t bits, unsigned width) {
  const uint32_t sign = 1u << (width - 1);
  return static_cast<int64_t>(bits ^ sign) - static_cast<int64_t>(sign);
}

// Calls visit(i, value) with the integer value of each element.
template <typename Visit>
void for_each_integer(DataType type, std::span<const std::byte> bytes, size_t count, Visit&& visit) {
  const auto all = [&](auto zero) {
    for (size_t i = 0; i < count; ++i) visit(i, element_at<decltype(zero)>(bytes, i));
  };
  switch (type) {
    case DataType::kInt64:
      return all(int64_t{});
    case DataType::kUint64:
      return all(uint64_t{});
    case DataType::kInt32:
      return all(int32_t{});
    case DataType::kUint32:
      return all(uint32_t{});
    case DataType::kInt16:
      return all(int16_t{});
    case DataType::kUint16:
      return all(uint16_t{});
    case DataType::kInt8:
      return all(int8_t{});
    case DataType::kUint8:
      return all(uint8_t{});
    case DataType::kBool:
      for (size_t i = 0; i < count; ++i) visit(i, element_at<uint8_t>(bytes, i) != 0 ? 1 : 0);
      return;
    default:
      break;
  }
  const auto width = static_cast<unsigned>(bits_of(type));
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = load_bits(bytes, i, width);
    visit(i, is_signed ? sign_extend(bits, width) : static_cast<int64_t>(bits));
  }
}

}  // namespace

void decode_integers(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<int64_t>& values) {
  values.resize(static_cast<size_t>(tensor.num_elements()));
  for_each_integer(tensor.data_type, bytes, values.size(), [&](size_t i, auto value) {
    if constexpr (std::is_same_v<decltype(value), uint64_t>) {
      if (value > static_cast<uint64_t>(INT64_MAX)) {
        throw Error(
            ErrorCode::kInvalidFile,
            {.what = fmt::format("element {} is {}, above the range of int64", i, value), .where = describe(tensor)});
      }
    }
    values[i] = static_cast<int64_t>(value);
  });
}

void decode_reals(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<double>& values) {
  values.resize(static_cast<size_t>(tensor.num_elements()));
  const auto all = [&](auto&& element) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = element(i);
  };
  const auto small = [&](const FloatFormat& format) {
    const auto width = static_cast<unsigned>(1 + format.exponent_bits + format.mantissa_bits);
    if (width == 8) return all([&](size_t i) { return decode_float(format, element_at<uint8_t>(bytes, i)); });
    return all([&](size_t i) { return decode_float(format, load_bits(bytes, i, width)); });
  };
  switch (tensor.data_type) {
    case DataType::kFloat:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return to_doubles(tensor.data_type, bytes.data(), values);
    case DataType::kDouble:
      return all([&](size_t i) { return element_at<double>(bytes, i); });
    case DataType::kFloat8E4M3FN:
      return small(kE4M3Fn);
    case DataType::kFloat8E4M3FNUZ:
      return small(kE4M3Fnuz);
    case DataType::kFloat8E5M2:
      return small(kE5M2);
    case DataType::kFloat8E5M2FNUZ:
      return small(kE5M2Fnuz);
    case DataType::kFloat8E8M0:
      return all([&](size_t i) { return decode_e8m0(element_at<uint8_t>(bytes, i)); });
    case DataType::kFloat4E2M1:
      return small(kE2M1);
    case DataType::kFloat6E2M3:
      return small(kE2M3);
    case DataType::kFloat6E3M2:
      return small(kE3M2);
    default:
      for_each_integer(tensor.data_type, bytes, values.size(),
                       [&](size_t i, auto value) { values[i] = static_cast<double>(value); });
  }
}

}  // namespace thaw::ir
