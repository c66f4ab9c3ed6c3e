// Element types and declared types of values, as in ONNX's TypeProto.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thaw::ir {

// Numbers as in TensorProto.DataType (onnx.in.proto).
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

std::string_view name_of(DataType type);                             // "float32", "int64", "bfloat16", …; "undefined"
std::optional<DataType> data_type_from_name(std::string_view name);  // inverse; also "float", "double"
int bits_of(DataType type);                                          // 32, 64, 4, …; 0 for string and undefined
bool is_integer(DataType type);                                      // signed or unsigned integers; not bool
bool is_floating(DataType type);

// A dim as the file declares it: an integer, a name, or nothing.
struct DeclaredDim {
  std::optional<int64_t> value;
  std::string param;  // dim_param; empty when none
  std::string denotation;
  bool operator==(const DeclaredDim&) const = default;
};

// A declared type. Only the members of its kind are meaningful.
struct Type {
  enum class Kind : uint8_t { kNone, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };
  Kind kind = Kind::kNone;
  DataType elem_type = DataType::kUndefined;      // tensor, sparse tensor; key type of a map
  std::optional<std::vector<DeclaredDim>> shape;  // tensor, sparse tensor; nullopt: no shape declared
  std::shared_ptr<const Type> element;            // sequence, optional; value type of a map
  std::string denotation;
  std::string opaque;  // the wire bytes of an Opaque type, kept as they are

  // The wire bytes that the type was read from, where they say more than the members can (an element type or name that
  // is written though empty, unknown fields); null otherwise. Written back as long as the members still agree with
  // them.
  std::shared_ptr<const std::string> wire;

  static Type tensor(DataType elem_type, std::optional<std::vector<DeclaredDim>> shape = std::nullopt) {
    Type type;
    type.kind = Kind::kTensor;
    type.elem_type = elem_type;
    type.shape = std::move(shape);
    return type;
  }
};
bool operator==(const Type& a, const Type& b);  // `wire` aside

// The declared dims of a tensor for messages: "[1, 3, width, ?]"; "[?]" where no shape is declared.
std::string dims_text(const Type& type);

// Takes the shape off a type, and off the items of a sequence or optional.
void forget_shape(Type& type);

}  // namespace thaw::ir
