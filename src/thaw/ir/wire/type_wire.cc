#include "thaw/ir/wire/type_wire.h"

#include <string>
#include <utility>

#include "thaw/ir/wire/fields.h"

namespace thaw::ir {
namespace {

using wire::bytes_tag;
using wire::Field;
using wire::Reader;
using wire::varint_tag;

// Reads a type and notes whether writing the members yields the same message again.
class TypeReader {
 public:
  bool is_odd() const { return odd_; }

  Type read(std::string_view bytes, int depth) {
    if (depth == kMaxNesting) throw wire::Malformed{"types nest too deeply", bytes.data()};
    Type type;
    std::string_view content;
    uint32_t number = 0;
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      switch (field.tag) {
        case bytes_tag(field::type::kTensor):
        case bytes_tag(field::type::kSequence):
        case bytes_tag(field::type::kMap):
        case bytes_tag(field::type::kOpaque):
        case bytes_tag(field::type::kSparseTensor):
        case bytes_tag(field::type::kOptional):
          // The last alternative stands; parts of the same one are merged.
          if (number != 0) odd_ = true;
          content = number == field.tag >> 3 ? merged(content, field.bytes) : field.bytes;
          number = field.tag >> 3;
          break;
        case bytes_tag(field::type::kDenotation):
          type.denotation = text(field);
          break;
        default:
          odd_ = true;
      }
    }
    switch (number) {
      case field::type::kTensor:
        read_tensor(content, Type::Kind::kTensor, type);
        break;
      case field::type::kSparseTensor:
        read_tensor(content, Type::Kind::kSparseTensor, type);
        break;
      case field::type::kSequence:
        read_element(content, Type::Kind::kSequence, type, depth);
        break;
      case field::type::kOptional:
        read_element(content, Type::Kind::kOptional, type, depth);
        break;
      case field::type::kMap:
        read_map(content, type, depth);
        break;
      case field::type::kOpaque:
        type.kind = Type::Kind::kOpaque;
        type.opaque = content;
        break;
      default:
        break;
    }
    return type;
  }

 private:
  std::string_view text(const Field& field) {
    if (field.bytes.empty()) odd_ = true;
    return field.bytes;
  }

  // Two parts of one message, which protobuf reads as their concatenation. A third is added to the two in place.
  std::string_view merged(std::string_view a, std::string_view b) {
    odd_ = true;
    const bool again = !parts_.empty() && parts_.back()->data() == a.data() && parts_.back()->size() == a.size();
    if (!again) parts_.push_back(std::make_unique<std::string>(a));
    return parts_.back()->append(b);
  }

  void read_tensor(std::string_view bytes, Type::Kind kind, Type& type) {
    type.kind = kind;
    std::string_view shape;
    bool has_elem_type = false, has_shape = false;
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      switch (field.tag) {
        case varint_tag(field::type::kElemType):
          type.elem_type = static_cast<DataType>(field.as_int32());
          has_elem_type = true;
          break;
        case bytes_tag(field::type::kShape):
          shape = has_shape ? merged(shape, field.bytes) : field.bytes;
          has_shape = true;
          break;
        default:
          odd_ = true;
      }
    }
    if (has_elem_type != (type.elem_type != DataType::kUndefined)) odd_ = true;
    if (has_shape) read_shape(shape, type.shape.emplace());
  }

  void read_shape(std::string_view bytes, std::vector<DeclaredDim>& shape) {
    shape.reserve(bytes.empty() ? 0 : 4);  // most have no more dims
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      if (field.tag == bytes_tag(field::type::kDim)) {
        read_dim(field.bytes, shape.emplace_back());
      } else {
        odd_ = true;
      }
    }
  }

  void read_dim(std::string_view bytes, DeclaredDim& dim) {
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      switch (field.tag) {
        case varint_tag(field::type::kDimValue):
          dim.value = field.as_int64();
          dim.param.clear();
          break;
        case bytes_tag(field::type::kDimParam):
          dim.param = text(field);
          dim.value.reset();
          break;
        case bytes_tag(field::type::kDimDenotation):
          dim.denotation = text(field);
          break;
        default:
          odd_ = true;
      }
    }
  }

  void read_element(std::string_view bytes, Type::Kind kind, Type& type, int depth) {
    type.kind = kind;
    std::string_view element;
    bool has_element = false;
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      if (field.tag == bytes_tag(field::type::kElement)) {
        element = has_element ? merged(element, field.bytes) : field.bytes;
        has_element = true;
      } else {
        odd_ = true;
      }
    }
    if (has_element) type.element = std::make_shared<const Type>(read(element, depth + 1));
  }

  void read_map(std::string_view bytes, Type& type, int depth) {
    type.kind = Type::Kind::kMap;
    std::string_view value;
    bool has_key = false, has_value = false;
    Field field;
    for (Reader reader(bytes); reader.next(field);) {
      switch (field.tag) {
        case varint_tag(field::type::kKeyType):
          type.elem_type = static_cast<DataType>(field.as_int32());
          has_key = true;
          break;
        case bytes_tag(field::type::kValueType):
          value = has_value ? merged(value, field.bytes) : field.bytes;
          has_value = true;
          break;
        default:
          odd_ = true;
      }
    }
    if (has_key != (type.elem_type != DataType::kUndefined)) odd_ = true;
    if (has_value) type.element = std::make_shared<const Type>(read(value, depth + 1));
  }

  bool odd_ = false;
  std::vector<std::unique_ptr<std::string>> parts_;
};

void write_members(wire::Encoder& out, const Type& type);

void write_tensor(wire::Encoder& out, const Type& type) {
  if (type.elem_type != DataType::kUndefined) out.integer(field::type::kElemType, static_cast<int32_t>(type.elem_type));
  if (!type.shape) return;
  out.message(field::type::kShape, [&] {
    for (const DeclaredDim& dim : *type.shape) {
      out.message(field::type::kDim, [&] {
        if (dim.value) {
          out.integer(field::type::kDimValue, *dim.value);
        } else {
          out.text(field::type::kDimParam, dim.param);
        }
        out.text(field::type::kDimDenotation, dim.denotation);
      });
    }
  });
}

void write_members(wire::Encoder& out, const Type& type) {
  const auto element = [&](uint32_t number) {
    if (type.element) out.message(number, [&] { write_type(out, *type.element); });
  };
  switch (type.kind) {
    case Type::Kind::kNone:
      break;
    case Type::Kind::kTensor:
      out.message(field::type::kTensor, [&] { write_tensor(out, type); });
      break;
    case Type::Kind::kSparseTensor:
      out.message(field::type::kSparseTensor, [&] { write_tensor(out, type); });
      break;
    case Type::Kind::kSequence:
      out.message(field::type::kSequence, [&] { element(field::type::kElement); });
      break;
    case Type::Kind::kOptional:
      out.message(field::type::kOptional, [&] { element(field::type::kElement); });
      break;
    case Type::Kind::kMap:
      out.message(field::type::kMap, [&] {
        if (type.elem_type != DataType::kUndefined)
          out.integer(field::type::kKeyType, static_cast<int32_t>(type.elem_type));
        element(field::type::kValueType);
      });
      break;
    case Type::Kind::kOpaque:
      out.bytes(field::type::kOpaque, type.opaque);
      break;
  }
  out.text(field::type::kDenotation, type.denotation);
}

}  // namespace

Type read_type(std::string_view bytes) {
  TypeReader reader;
  Type type = reader.read(bytes, 0);
  if (reader.is_odd() || bytes.empty()) type.wire = std::make_shared<const std::string>(bytes);
  return type;
}

bool is_declared(const Type& type) { return type.kind != Type::Kind::kNone || !type.denotation.empty() || type.wire; }

void write_type(wire::Encoder& out, const Type& type) {
  if (type.wire && read_type(*type.wire) == type) {
    out.raw(*type.wire);
  } else {
    write_members(out, type);
  }
}

}  // namespace thaw::ir
