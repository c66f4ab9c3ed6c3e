// Element types, and an N-dimensional array that owns its elements: inputs and outputs of models, contents of .npy files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/export.h"

namespace thaw {

// The numbers of TensorProto.DataType (onnx.in.proto).
enum class DataType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

THAW_API std::string_view name_of(DataType type);  // "float32", "int64", "bfloat16", …; "undefined"
THAW_API std::optional<DataType> data_type_from_name(std::string_view name);  // inverse; also "float", "double"
THAW_API int bits_of(DataType type);  // 32, 64, 4, …; 0 for string and undefined

// The kind of a value, as in ONNX's TypeProto. kNone: not declared.
enum class TypeKind : uint8_t { kNone, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };

// Elements are in row-major order, packed and little-endian as in TensorProto.raw_data. Elements of 4 and 2 bits share bytes,
// the first in the low bits. Strings are UTF-8. A scalar has no dims. Functions throw thaw::Error for negative dims, and for
// dims whose product overflows.
struct THAW_API Array {
  DataType dtype = DataType::kUndefined;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;      // empty for strings
  std::vector<std::string> strings;  // one for each element; empty for other types

  int64_t num_elements() const;
  bool is_string() const { return dtype == DataType::kString; }
  bool operator==(const Array&) const = default;

  // Zeros, or empty strings.
  static Array zeros(DataType dtype, std::vector<int64_t> dims);
  // Values are rounded to the type. Their number must be the product of the dims.
  static Array from_doubles(DataType dtype, std::vector<int64_t> dims, std::span<const double> values);
  static Array from_int64(DataType dtype, std::vector<int64_t> dims, std::span<const int64_t> values);
  static Array from_strings(std::vector<int64_t> dims, std::vector<std::string> values);
};

// Arrays by name, sorted by name.
using Arrays = std::map<std::string, Array, std::less<>>;

// All elements. to_doubles() takes all types but strings and complex numbers, to_int64s() integers and bool. Both throw
// thaw::Error for other types.
THAW_API std::vector<double> to_doubles(const Array& array);
THAW_API std::vector<int64_t> to_int64s(const Array& array);

}  // namespace thaw
