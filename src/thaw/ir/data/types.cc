#include "thaw/ir/data/types.h"

#include <array>

namespace thaw {
namespace {

enum class Class : uint8_t { kOther, kInteger, kFloating };

struct TypeRow {
  std::string_view name;
  int bits;
  Class kind;
};

// By the number of the type.
constexpr std::array<TypeRow, 29> kTypeRows = {{
    {"undefined", 0, Class::kOther},
    {"float32", 32, Class::kFloating},
    {"uint8", 8, Class::kInteger},
    {"int8", 8, Class::kInteger},
    {"uint16", 16, Class::kInteger},
    {"int16", 16, Class::kInteger},
    {"int32", 32, Class::kInteger},
    {"int64", 64, Class::kInteger},
    {"string", 0, Class::kOther},
    {"bool", 8, Class::kOther},
    {"float16", 16, Class::kFloating},
    {"float64", 64, Class::kFloating},
    {"uint32", 32, Class::kInteger},
    {"uint64", 64, Class::kInteger},
    {"complex64", 64, Class::kOther},
    {"complex128", 128, Class::kOther},
    {"bfloat16", 16, Class::kFloating},
    {"float8e4m3fn", 8, Class::kFloating},
    {"float8e4m3fnuz", 8, Class::kFloating},
    {"float8e5m2", 8, Class::kFloating},
    {"float8e5m2fnuz", 8, Class::kFloating},
    {"uint4", 4, Class::kInteger},
    {"int4", 4, Class::kInteger},
    {"float4e2m1", 4, Class::kFloating},
    {"float8e8m0", 8, Class::kFloating},
    {"uint2", 2, Class::kInteger},
    {"int2", 2, Class::kInteger},
    {"float6e2m3", 6, Class::kFloating},
    {"float6e3m2", 6, Class::kFloating},
}};

const TypeRow& row_of(DataType type) {
  const auto number = static_cast<int32_t>(type);
  return kTypeRows[number > 0 && number < static_cast<int32_t>(kTypeRows.size()) ? static_cast<size_t>(number) : 0];
}

}  // namespace

std::string_view name_of(DataType type) { return row_of(type).name; }
int bits_of(DataType type) { return row_of(type).bits; }

std::optional<DataType> data_type_from_name(std::string_view name) {
  if (name == "float") return DataType::kFloat;
  if (name == "double") return DataType::kDouble;
  for (size_t i = 0; i < kTypeRows.size(); ++i) {
    if (kTypeRows[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

namespace ir {

bool is_integer(DataType type) { return row_of(type).kind == Class::kInteger; }
bool is_floating(DataType type) { return row_of(type).kind == Class::kFloating; }

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind || a.denotation != b.denotation) return false;
  switch (a.kind) {
    case Type::Kind::kNone:
      return true;
    case Type::Kind::kTensor:
    case Type::Kind::kSparseTensor:
      return a.elem_type == b.elem_type && a.shape == b.shape;
    case Type::Kind::kOpaque:
      return a.opaque == b.opaque;
    case Type::Kind::kMap:
      if (a.elem_type != b.elem_type) return false;
      [[fallthrough]];
    case Type::Kind::kSequence:
    case Type::Kind::kOptional:
      if (!a.element || !b.element) return !a.element && !b.element;
      return a.element == b.element || *a.element == *b.element;
  }
  return false;
}

std::string dims_text(const Type& type) {
  if (!type.shape) return "[?]";
  std::string dims;
  for (const DeclaredDim& dim : *type.shape) {
    dims += dims.empty() ? "" : ", ";
    dims += dim.value ? std::to_string(*dim.value) : dim.param.empty() ? "?" : dim.param;
  }
  return "[" + dims + "]";
}

void forget_shape(Type& type) {
  type.shape.reset();
  if (!type.element) return;
  Type element = *type.element;
  forget_shape(element);
  type.element = std::make_shared<const Type>(std::move(element));
}

}  // namespace ir
}  // namespace thaw
