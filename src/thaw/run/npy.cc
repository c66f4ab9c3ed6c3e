#include "thaw/run/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/core/memory.h"
#include "thaw/limits.h"
#include "thaw/run/elements.h"
#include "thaw/run/npy_header.h"

namespace thaw::run {
namespace {

using ir::DataType;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint32_t kMaxHeader = 1 << 20;

// What a descr such as "<f4" says: the element's type, its bytes in the file, and whether they stand the other way
// round.
struct ElementType {
  DataType dtype = DataType::kUndefined;
  uint64_t width = 0;  // bytes of one element
  char kind = 0;
  bool big_endian = false;
};

std::optional<DataType> data_type_of(char kind, uint64_t width) {
  struct Row {
    char kind;
    uint64_t width;
    DataType dtype;
  };
  static constexpr std::array<Row, 16> kRows{{{'f', 2, DataType::kFloat16},
                                              {'f', 4, DataType::kFloat},
                                              {'f', 8, DataType::kDouble},
                                              {'i', 1, DataType::kInt8},
                                              {'i', 2, DataType::kInt16},
                                              {'i', 4, DataType::kInt32},
                                              {'i', 8, DataType::kInt64},
                                              {'u', 1, DataType::kUint8},
                                              {'u', 2, DataType::kUint16},
                                              {'u', 4, DataType::kUint32},
                                              {'u', 8, DataType::kUint64},
                                              {'b', 1, DataType::kBool},
                                              {'c', 8, DataType::kComplex64},
                                              {'c', 16, DataType::kComplex128},
                                              {'V', 2, DataType::kBfloat16},
                                              {'V', 1, DataType::kUint8}}};
  if (kind == 'U' || kind == 'S') return DataType::kString;
  for (const Row& row : kRows) {
    if (row.kind == kind && row.width == width) return row.dtype;
  }
  return std::nullopt;
}

ElementType parse_descr(const std::string& descr, const std::string& where) {
  ElementType type;
  size_t at = 0;
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    type.big_endian = descr[0] == '>';
    at = 1;
  }
  if (at < descr.size()) type.kind = descr[at++];
  const auto [end, error] = std::from_chars(descr.data() + at, descr.data() + descr.size(), type.width);
  const bool whole = error == std::errc() && end == descr.data() + descr.size();
  const auto dtype = whole ? data_type_of(type.kind, type.width) : std::nullopt;
  if (!dtype) {
    const bool objects = type.kind == 'O';
    throw Error(ErrorCode::kInvalidFile,
                {.what = objects ? "holds pickled Python objects" : "holds elements of type '" + descr + "'",
                 .where = where,
                 .expected = "booleans, integers, floats, complex numbers or strings",
                 .next = "convert the array with astype before saving it"});
  }
  type.dtype = *dtype;
  if (type.kind == 'U' && __builtin_mul_overflow(type.width, uint64_t{4}, &type.width)) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "holds strings of impossible length", .where = where, .expected = "a width that fits in memory"});
  }
  return type;
}

// Turns each group of `width` bytes round; complex numbers are two of half the width.
void swap_bytes(std::vector<std::byte>& bytes, uint64_t width) {
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + width));
  }
}

// Elements of `width` bytes from column-major to row-major order.
std::vector<std::byte> to_row_major(const std::vector<std::byte>& bytes, const std::vector<int64_t>& dims,
                                    uint64_t width) {
  std::vector<std::byte> result(bytes.size());
  const size_t rank = dims.size();
  std::array<uint64_t, kMaxNpyRank> stride{};  // of the file's order, in bytes
  uint64_t step = width;
  for (size_t axis = 0; axis < rank; ++axis) {
    stride[axis] = step;
    step *= static_cast<uint64_t>(dims[axis]);
  }
  std::array<int64_t, kMaxNpyRank> index{};
  uint64_t source = 0;
  for (size_t target = 0; target < bytes.size(); target += width) {
    std::memcpy(result.data() + target, bytes.data() + source, width);
    for (size_t axis = rank; axis-- > 0;) {
      source += stride[axis];
      if (++index[axis] < dims[axis]) break;
      source -= stride[axis] * static_cast<uint64_t>(dims[axis]);
      index[axis] = 0;
    }
  }
  return result;
}

// How many elements a shape has, and their bytes; no bytes where either passes 64 bits.
std::pair<uint64_t, std::optional<uint64_t>> count_and_bytes(const std::vector<int64_t>& dims, uint64_t width) {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return {0, 0};
  uint64_t count = 1, total = 0;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count)) return {0, std::nullopt};
  }
  if (count > INT64_MAX || __builtin_mul_overflow(count, width, &total)) return {0, std::nullopt};
  return {count, total};
}

void append_utf8(std::string& text, uint32_t code, const std::string& where) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
    throw Error(ErrorCode::kInvalidFile,
                {.what = "holds a string with an invalid code point", .where = where, .expected = "Unicode text"});
  }
  const auto byte = [&](uint32_t value) { text.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

// Fixed-width fields, filled up with zeros, to strings.
std::vector<std::string> to_strings(const std::vector<std::byte>& bytes, const ElementType& type, size_t count,
                                    const std::string& where) {
  std::vector<std::string> strings(count);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* field = bytes.data() + i * type.width;
    if (type.kind == 'S') {
      size_t length = type.width;
      while (length > 0 && field[length - 1] == std::byte{0}) --length;
      strings[i].assign(reinterpret_cast<const char*>(field), length);
      continue;
    }
    size_t length = type.width / 4;
    const auto code_at = [&](size_t k) {
      uint32_t code;
      std::memcpy(&code, field + 4 * k, 4);
      return type.big_endian ? __builtin_bswap32(code) : code;
    };
    while (length > 0 && code_at(length - 1) == 0) --length;
    for (size_t k = 0; k < length; ++k) append_utf8(strings[i], code_at(k), where);
  }
  return strings;
}

// Code points of UTF-8 text; a byte that is not UTF-8 stands for itself.
std::u32string code_points(const std::string& text) {
  std::u32string codes;
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    bool valid = length > 0 && i + length <= text.size();
    char32_t code = length < 2 ? lead : lead & (0x7F >> length);
    for (size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = next >> 6 == 2;
      code = code << 6 | (next & 0x3F);
    }
    codes.push_back(valid ? code : lead);
    i += valid ? length : 1;
  }
  return codes;
}

size_t longest(const Array& array) {
  size_t length = 1;  // NumPy has no strings of no width
  for (const std::string& text : array.strings) length = std::max(length, code_points(text).size());
  return length;
}

std::string descr_of(const Array& array) {
  switch (array.dtype) {
    case DataType::kFloat16:
      return "<f2";
    case DataType::kFloat:
      return "<f4";
    case DataType::kDouble:
      return "<f8";
    case DataType::kInt8:
    case DataType::kInt4:
    case DataType::kInt2:
      return "|i1";
    case DataType::kInt16:
      return "<i2";
    case DataType::kInt32:
      return "<i4";
    case DataType::kInt64:
      return "<i8";
    case DataType::kUint8:
    case DataType::kUint4:
    case DataType::kUint2:
      return "|u1";
    case DataType::kUint16:
      return "<u2";
    case DataType::kUint32:
      return "<u4";
    case DataType::kUint64:
      return "<u8";
    case DataType::kBool:
      return "|b1";
    case DataType::kComplex64:
      return "<c8";
    case DataType::kComplex128:
      return "<c16";
    case DataType::kBfloat16:
      return "<V2";
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0:
      return "|V1";
    case DataType::kFloat4E2M1:
      return "<f4";
    case DataType::kString:
      return "<U" + std::to_string(longest(array));
    case DataType::kFloat6E2M3:  // no runtime makes them
    case DataType::kFloat6E3M2:
    case DataType::kUndefined:
      break;
  }
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "an array of type " + std::string(ir::name_of(array.dtype)) + " cannot be written",
               .expected = "one of the element types of ONNX"});
}

// What stands before the data of an array, held against how many bytes they are.
struct StoredArray {
  NpyHeader header;
  ElementType type;
  uint64_t count = 0, total = 0;  // elements, bytes
};

StoredArray read_header(ByteSource& source) {
  const std::string& where = source.name();
  std::array<std::byte, 12> start{};
  read_exactly(source, std::span(start).first(10));
  const auto byte_at = [&](size_t i) { return std::to_integer<uint32_t>(start[i]); };
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error(ErrorCode::kInvalidFile, {.what = "does not start as a .npy file does",
                                          .where = where,
                                          .expected = "an array written by numpy.save or numpy.savez"});
  }
  const uint32_t version = byte_at(6);
  uint32_t length = byte_at(8) | byte_at(9) << 8;
  if (version == 2 || version == 3) {
    read_exactly(source, std::span(start).subspan(10, 2));
    length |= byte_at(10) << 16 | byte_at(11) << 24;
  } else if (version != 1) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "is of .npy version " + std::to_string(version), .where = where, .expected = "version 1, 2 or 3"});
  }
  if (length > kMaxHeader) {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "has a header of " + std::to_string(length) + " bytes", .where = where, .expected = "at most 1 MiB"});
  }
  std::string text(length, '\0');
  read_exactly(source, std::as_writable_bytes(std::span(text)));
  StoredArray stored;
  stored.header = parse_npy_header(text, where);
  stored.type = parse_descr(stored.header.descr, where);
  const std::vector<int64_t>& dims = stored.header.shape;
  const auto [count, total] = count_and_bytes(dims, stored.type.width);
  if (!total || *total != source.left()) {
    throw Error(ErrorCode::kInvalidFile, {.what = "has " + std::to_string(source.left()) +
                                                  " bytes of data for the shape " + describe(stored.type.dtype, dims),
                                          .where = where,
                                          .expected = "exactly the data of that shape",
                                          .next = "write the file again"});
  }
  if (stored.type.width == 0 && count > (uint64_t{1} << 20)) {  // elements that the file's size does not bound
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = "holds " + std::to_string(count) + " empty strings", .where = where, .expected = "at most 2^20"});
  }
  stored.count = count;
  stored.total = *total;
  return stored;
}

// Zeros of any number compress to next to nothing.
void require_memory(const ElementType& type, uint64_t count, uint64_t total, const std::string& where) {
  const uint64_t most = limits().max_memory;
  const uint64_t there = most != 0 ? most : available_memory().value_or(UINT64_MAX);
  uint64_t needed = total;
  if (type.dtype == DataType::kString && __builtin_add_overflow(needed, count * sizeof(std::string), &needed))
    needed = UINT64_MAX;
  if (needed <= there) return;
  throw Error(ErrorCode::kOutOfBudget,
              {.what = "would take " + std::to_string(needed) + " bytes of memory",
               .where = where,
               .expected = "at most " + std::to_string(there) +
                           (most != 0 ? ", as --max-memory says" : ", which is what there is"),
               .next = "allow more with --max-memory (thaw::Limits::max_memory), or give a smaller array"});
}

}  // namespace

NpyShape read_npy_shape(ByteSource& source) {
  const StoredArray stored = read_header(source);
  return {stored.type.dtype, stored.header.shape};
}

Array read_npy(ByteSource& source, const NpyCheck& check) {
  const std::string& where = source.name();
  const auto [header, type, count, total] = read_header(source);
  if (check) check({type.dtype, header.shape});
  require_memory(type, count, total, where);

  Array array;
  array.dtype = type.dtype;
  array.dims = header.shape;
  std::vector<std::byte> bytes(total);
  read_exactly(source, bytes);
  if (type.big_endian && type.dtype != DataType::kString) {
    swap_bytes(bytes, is_complex(type.dtype) ? type.width / 2 : type.width);
  }
  if (type.dtype == DataType::kBool) {
    for (std::byte& byte : bytes) byte = byte == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  if (header.fortran_order && array.dims.size() > 1 && type.width > 0) {
    bytes = to_row_major(bytes, array.dims, type.width);
  }
  if (type.dtype == DataType::kString) {
    array.strings = to_strings(bytes, type, count, where);
  } else {
    array.bytes = std::move(bytes);
  }
  return array;
}

std::string npy_header(const Array& array) {
  std::string text = "{'descr': '" + descr_of(array) + "', 'fortran_order': False, 'shape': (";
  for (int64_t dim : array.dims) text += std::to_string(dim) + ", ";
  if (array.dims.size() > 1) text.resize(text.size() - 2);
  if (array.dims.size() == 1) text.pop_back();  // "(3,)"
  text += "), }";
  // Data start at a multiple of 64 bytes; the header ends with a newline. Version 2 where its length needs 32 bits.
  const bool wide = text.size() + 1 + 64 + 10 > 0xFFFF;
  const size_t before = wide ? 12 : 10;
  text.append(63 - (before + text.size()) % 64, ' ');
  text.push_back('\n');
  std::string header(kMagic);
  header.push_back(wide ? '\x02' : '\x01');
  header.push_back('\0');
  for (size_t i = 0; i < (wide ? 4U : 2U); ++i) header.push_back(static_cast<char>(text.size() >> (8 * i) & 0xFF));
  return header + text;
}

std::span<const std::byte> npy_data(const Array& array, std::vector<std::byte>& storage) {
  storage.clear();
  if (array.is_string()) {
    const size_t width = 4 * longest(array);
    storage.resize(array.strings.size() * width);
    for (size_t i = 0; i < array.strings.size(); ++i) {
      const std::u32string codes = code_points(array.strings[i]);
      std::memcpy(storage.data() + i * width, codes.data(), codes.size() * 4);
    }
    return storage;
  }
  const int bits = ir::bits_of(array.dtype);
  if (bits >= 8) return array.bytes;
  const bool is_signed = array.dtype == DataType::kInt4 || array.dtype == DataType::kInt2;
  const DataType wide = array.dtype == DataType::kFloat4E2M1 ? DataType::kFloat
                        : is_signed                          ? DataType::kInt8
                                                             : DataType::kUint8;
  storage = cast(array, wide).bytes;
  return storage;
}

}  // namespace thaw::run
