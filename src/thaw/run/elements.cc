#include "thaw/run/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "thaw/core/error.h"
#include "thaw/core/small_float.h"
#include "thaw/ir/data/floats.h"

namespace thaw::run {
namespace {

using ir::DataType;

static_assert(std::endian::native == std::endian::little, "arrays are kept as little-endian bytes");

[[noreturn]] void refuse(DataType type) {
  throw Error(ErrorCode::kUnsupported,
              {.what = "elements of type " + std::string(ir::name_of(type)) + " are not plain numbers",
               .expected = "a boolean, integer or floating-point type"});
}

template <typename T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// A field of `bits` bits (4 or 2), the first in the low bits of a byte.
uint32_t load_bits(int bits, const std::byte* data, int64_t index) {
  const int per_byte = 8 / bits;
  const auto byte = std::to_integer<uint32_t>(data[index / per_byte]);
  return byte >> (index % per_byte * bits) & ((1U << bits) - 1);
}

void store_bits(int bits, std::byte* data, int64_t index, uint32_t value) {
  const int per_byte = 8 / bits;
  const auto shift = static_cast<uint32_t>(index % per_byte * bits);
  const uint32_t mask = ((1U << bits) - 1) << shift;
  auto byte = std::to_integer<uint32_t>(data[index / per_byte]);
  byte = (byte & ~mask) | (value << shift & mask);
  data[index / per_byte] = static_cast<std::byte>(byte);
}

int64_t sign_extend(uint32_t value, int bits) {
  const uint32_t top = 1U << (bits - 1);
  return static_cast<int64_t>(value ^ top) - static_cast<int64_t>(top);
}

// The value cut off toward zero and kept in [lowest, highest].
int64_t to_integer(double value, int64_t lowest, int64_t highest) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(lowest)) return lowest;
  if (value >= static_cast<double>(highest)) return highest;
  return static_cast<int64_t>(value);
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    if (!(value > 0)) return 0;
    if (value >= 18446744073709551616.0) return std::numeric_limits<uint64_t>::max();
    return static_cast<uint64_t>(value);
  } else {
    return static_cast<T>(to_integer(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

template <typename T>
T narrow(int64_t value) {
  if constexpr (std::is_same_v<T, uint64_t> || std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    return static_cast<T>(std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

template <typename T, typename Number>
void decode_as(const std::byte* data, int64_t first, std::span<Number> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<Number>(load<T>(data, first + static_cast<int64_t>(i)));
  }
}

template <typename T, typename Number>
void encode_as(std::span<const Number> values, std::byte* data, int64_t first) {
  for (size_t i = 0; i < values.size(); ++i) {
    store<T>(data, first + static_cast<int64_t>(i), narrow<T>(values[i]));
  }
}

// Calls use(T{}) with the whole-byte integer type T; false for other types.
bool with_integer(DataType type, auto use) {
  switch (type) {
    case DataType::kInt8:
      return use(int8_t{}), true;
    case DataType::kUint8:
      return use(uint8_t{}), true;
    case DataType::kInt16:
      return use(int16_t{}), true;
    case DataType::kUint16:
      return use(uint16_t{}), true;
    case DataType::kInt32:
      return use(int32_t{}), true;
    case DataType::kUint32:
      return use(uint32_t{}), true;
    case DataType::kInt64:
      return use(int64_t{}), true;
    case DataType::kUint64:
      return use(uint64_t{}), true;
    default:
      return false;
  }
}

// Integers and bool; false for other types.
template <typename Number>
bool decode_integers(DataType type, const std::byte* data, int64_t first, std::span<Number> out) {
  if (with_integer(type, [&](auto zero) { decode_as<decltype(zero)>(data, first, out); })) return true;
  switch (type) {
    case DataType::kBool:
      for (size_t i = 0; i < out.size(); ++i) {
        out[i] = load<uint8_t>(data, first + static_cast<int64_t>(i)) != 0 ? Number{1} : Number{0};
      }
      return true;
    case DataType::kInt4:
    case DataType::kUint4:
    case DataType::kInt2:
    case DataType::kUint2: {
      const int bits = ir::bits_of(type);
      const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
      for (size_t i = 0; i < out.size(); ++i) {
        const uint32_t code = load_bits(bits, data, first + static_cast<int64_t>(i));
        out[i] = static_cast<Number>(is_signed ? sign_extend(code, bits) : static_cast<int64_t>(code));
      }
      return true;
    }
    default:
      return false;
  }
}

template <typename Number>
bool encode_integers(DataType type, std::span<const Number> values, std::byte* data, int64_t first) {
  if (with_integer(type, [&](auto zero) { encode_as<decltype(zero)>(values, data, first); })) return true;
  switch (type) {
    case DataType::kBool:
      for (size_t i = 0; i < values.size(); ++i) {
        store<uint8_t>(data, first + static_cast<int64_t>(i), values[i] != Number{0} ? 1 : 0);
      }
      return true;
    case DataType::kInt4:
    case DataType::kUint4:
    case DataType::kInt2:
    case DataType::kUint2: {
      const int bits = ir::bits_of(type);
      const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
      const int64_t lowest = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
      const int64_t highest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t value = std::clamp(narrow<int64_t>(values[i]), lowest, highest);
        store_bits(bits, data, first + static_cast<int64_t>(i), static_cast<uint32_t>(value));
      }
      return true;
    }
    default:
      return false;
  }
}

const FloatFormat* small_format(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return &kFloat16Format;
    case DataType::kBfloat16:
      return &kBfloat16Format;
    case DataType::kFloat8E4M3FN:
      return &kE4M3Fn;
    case DataType::kFloat8E4M3FNUZ:
      return &kE4M3Fnuz;
    case DataType::kFloat8E5M2:
      return &kE5M2;
    case DataType::kFloat8E5M2FNUZ:
      return &kE5M2Fnuz;
    case DataType::kFloat4E2M1:
      return &kE2M1;
    default:
      return nullptr;
  }
}

uint32_t load_code(int bits, const std::byte* data, int64_t index) {
  if (bits == 16) return load<uint16_t>(data, index);
  if (bits == 8) return load<uint8_t>(data, index);
  return load_bits(bits, data, index);
}

void store_code(int bits, std::byte* data, int64_t index, uint32_t code) {
  if (bits == 16) return store<uint16_t>(data, index, static_cast<uint16_t>(code));
  if (bits == 8) return store<uint8_t>(data, index, static_cast<uint8_t>(code));
  store_bits(bits, data, index, code);
}

}  // namespace

bool is_complex(DataType type) { return type == DataType::kComplex64 || type == DataType::kComplex128; }

uint64_t packed_bytes(DataType type, int64_t count) {
  if (type == DataType::kString) return 0;
  const int bits = ir::bits_of(type);
  if (bits == 0) {
    throw Error(ErrorCode::kUnsupported,
                {.what = "an array has no element type", .expected = "one of the element types of ONNX"});
  }
  uint64_t total = 0;
  if (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), static_cast<uint64_t>(bits), &total) ||
      total > std::numeric_limits<uint64_t>::max() - 7) {
    throw Error(ErrorCode::kOutOfBudget, {.what = std::to_string(count) + " elements of type " +
                                                  std::string(ir::name_of(type)) + " have no size in bytes",
                                          .expected = "a count that fits into memory"});
  }
  return (total + 7) / 8;
}

void decode(DataType type, const std::byte* data, int64_t first, std::span<double> out) {
  if (type == DataType::kDouble) return decode_as<double>(data, first, out);
  if (type == DataType::kFloat || type == DataType::kFloat16 || type == DataType::kBfloat16)
    return ir::to_doubles(type, data + first * (ir::bits_of(type) / 8), out);
  if (decode_integers(type, data, first, out)) return;
  if (type == DataType::kFloat8E8M0) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = decode_e8m0(load_code(8, data, first + static_cast<int64_t>(i)));
    return;
  }
  const FloatFormat* format = small_format(type);
  if (format == nullptr) refuse(type);
  const int bits = ir::bits_of(type);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = decode_float(*format, load_code(bits, data, first + static_cast<int64_t>(i)));
  }
}

void encode(DataType type, std::span<const double> values, std::byte* data, int64_t first) {
  if (type == DataType::kFloat) return encode_as<float>(values, data, first);
  if (type == DataType::kDouble) return encode_as<double>(values, data, first);
  if (encode_integers(type, values, data, first)) return;
  if (type == DataType::kFloat8E8M0) {
    for (size_t i = 0; i < values.size(); ++i) {
      store_code(8, data, first + static_cast<int64_t>(i), encode_e8m0(values[i]));
    }
    return;
  }
  const FloatFormat* format = small_format(type);
  if (format == nullptr) refuse(type);
  const int bits = ir::bits_of(type);
  for (size_t i = 0; i < values.size(); ++i) {
    store_code(bits, data, first + static_cast<int64_t>(i), encode_float(*format, values[i]));
  }
}

void decode(DataType type, const std::byte* data, int64_t first, std::span<int64_t> out) {
  if (!decode_integers(type, data, first, out)) refuse(type);
}

void encode(DataType type, std::span<const int64_t> values, std::byte* data, int64_t first) {
  if (encode_integers(type, values, data, first)) return;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    encode(type, std::span<const double>(&value, 1), data, first + static_cast<int64_t>(i));
  }
}

}  // namespace thaw::run
