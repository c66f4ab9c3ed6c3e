#include "thaw/ir/data/tensor_decode.h"

#include <cstring>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/small_float.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/wire/wire.h"

namespace thaw::ir {
namespace {

// Fields of TensorProto that hold elements.
enum TypedField : uint32_t {
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kDoubleData = 10,
  kUint64Data = 11
};

// Which field a type's elements stand in, and how many bytes of an entry are kept.
struct Layout {
  uint32_t field;
  wire::WireType entry;  // when not packed
  size_t bytes;          // of an entry; sub-byte types: 1
};

Layout layout_of(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      return {kFloatData, wire::kFixed32, 4};
    case DataType::kDouble:
    case DataType::kComplex128:
      return {kDoubleData, wire::kFixed64, 8};
    case DataType::kInt64:
      return {kInt64Data, wire::kVarint, 8};
    case DataType::kUint64:
      return {kUint64Data, wire::kVarint, 8};
    case DataType::kUint32:
      return {kUint64Data, wire::kVarint, 4};
    case DataType::kInt32:
      return {kInt32Data, wire::kVarint, 4};
    default:
      return {kInt32Data, wire::kVarint, bits_of(type) == 16 ? size_t{2} : size_t{1}};
  }
}

void append(std::vector<std::byte>& bytes, uint64_t value, size_t size) {
  const size_t at = bytes.size();
  bytes.resize(at + size);
  std::memcpy(bytes.data() + at, &value, size);  // little-endian, as the machines that Thaw runs on
}

// 6-bit elements come one an entry and are kept four in three bytes.
std::vector<std::byte> pack_six_bits(const std::vector<std::byte>& entries) {
  std::vector<std::byte> packed((entries.size() * 6 + 7) / 8);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto bits = static_cast<uint32_t>(entries[i]) & 0x3f;
    const size_t bit = i * 6;
    packed[bit / 8] |= static_cast<std::byte>(bits << bit % 8);
    if (bit % 8 > 2) packed[bit / 8 + 1] |= static_cast<std::byte>(bits >> (8 - bit % 8));
  }
  return packed;
}

template <typename T>
T load(std::span<const std::byte> bytes, size_t i) {
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
    for (size_t i = 0; i < count; ++i) visit(i, load<decltype(zero)>(bytes, i));
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
      for (size_t i = 0; i < count; ++i) visit(i, load<uint8_t>(bytes, i) != 0 ? 1 : 0);
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

std::vector<std::byte> decode_typed(const Tensor& tensor, std::string_view wire) {
  const Layout layout = layout_of(tensor.data_type);
  std::vector<std::byte> bytes;
  const auto add = [&](uint64_t value) { append(bytes, value, layout.bytes); };
  try {
    wire::Reader reader(wire);
    wire::Field field;
    while (reader.next(field)) {
      if (field.tag == wire::tag(layout.field, layout.entry)) {
        add(field.number_value);
      } else if (field.tag == wire::bytes_tag(layout.field)) {
        if (layout.entry == wire::kVarint) {
          wire::Reader packed(field.bytes);
          while (!packed.done()) add(packed.varint());
        } else if (field.bytes.size() % layout.bytes == 0) {
          const auto* begin = reinterpret_cast<const std::byte*>(field.bytes.data());
          bytes.insert(bytes.end(), begin, begin + field.bytes.size());
        } else {
          throw wire::Malformed{"truncated inside a list of numbers", field.bytes.data()};
        }
      }
    }
  } catch (const wire::Malformed& malformed) {
    throw Error({.what = malformed.what, .where = describe(tensor), .next = "export the model again"});
  }
  return bits_of(tensor.data_type) == 6 ? pack_six_bits(bytes) : bytes;
}

std::vector<std::string> decode_strings(std::string_view wire) {
  std::vector<std::string> strings;
  wire::Reader reader(wire);
  wire::Field field;
  while (reader.next(field)) {
    if (field.tag == wire::bytes_tag(kStringData)) strings.emplace_back(field.bytes);
  }
  return strings;
}

void decode_integers(const Tensor& tensor, std::span<const std::byte> bytes, std::vector<int64_t>& values) {
  values.resize(static_cast<size_t>(tensor.num_elements()));
  for_each_integer(tensor.data_type, bytes, values.size(), [&](size_t i, auto value) {
    if constexpr (std::is_same_v<decltype(value), uint64_t>) {
      if (value > static_cast<uint64_t>(INT64_MAX)) {
        throw Error(
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
    if (width == 8) return all([&](size_t i) { return decode_float(format, load<uint8_t>(bytes, i)); });
    return all([&](size_t i) { return decode_float(format, load_bits(bytes, i, width)); });
  };
  switch (tensor.data_type) {
    case DataType::kFloat:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return to_doubles(tensor.data_type, bytes.data(), values);
    case DataType::kDouble:
      return all([&](size_t i) { return load<double>(bytes, i); });
    case DataType::kFloat8E4M3FN:
      return small(kE4M3Fn);
    case DataType::kFloat8E4M3FNUZ:
      return small(kE4M3Fnuz);
    case DataType::kFloat8E5M2:
      return small(kE5M2);
    case DataType::kFloat8E5M2FNUZ:
      return small(kE5M2Fnuz);
    case DataType::kFloat8E8M0:
      return all([&](size_t i) { return decode_e8m0(load<uint8_t>(bytes, i)); });
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
