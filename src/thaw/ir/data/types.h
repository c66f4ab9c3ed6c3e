// Element types and declared types of values, as in ONNX's TypeProto.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thaw/array.h"

namespace thaw::ir {

using thaw::bits_of;
using thaw::data_type_from_name;
using thaw::DataType;
using thaw::name_of;

bool is_integer(DataType type);  // signed or unsigned integers; not bool
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
  using Kind = TypeKind;
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
