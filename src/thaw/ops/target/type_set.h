// Sets of types that a value may have, as a kernel or an operator's type parameter admits them.
//
//   TypeSet floats = TypeSet::of({DataType::kFloat, DataType::kFloat16});
//   (floats | TypeSet::in(Container::kSequence, floats)).contains({Container::kSequence, DataType::kFloat16})
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "thaw/ir/data/types.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

// kQuantized: a tensor of floats between a DequantizeLinear and a QuantizeLinear, by the type in which it is stored.
enum class Container : uint8_t { kTensor, kSequence, kOptional, kOptionalSequence, kQuantized };

// The type of a value without its shape: a tensor of an element type, or a container of such tensors.
struct ValueType {
  Container container = Container::kTensor;
  ir::DataType dtype = ir::DataType::kUndefined;
  bool operator==(const ValueType&) const = default;
};

// The type that a fact tells; nullopt where it tells none (an unknown value, a map, a sparse tensor).
std::optional<ValueType> value_type(const Fact& fact);
// "float32", "sequence(int64)", "optional(sequence(bool))".
std::string to_string(ValueType type);

class TypeSet {
 public:
  constexpr TypeSet() = default;
  // Tensors of these element types.
  static constexpr TypeSet of(std::initializer_list<ir::DataType> types) {
    TypeSet set;
    for (ir::DataType type : types) set.types_[0] |= bit(type);
    return set;
  }
  // Containers of the tensors of another set.
  static constexpr TypeSet in(Container container, TypeSet tensors) {
    TypeSet set;
    set.types_[static_cast<size_t>(container)] = tensors.types_[0];
    return set;
  }
  constexpr TypeSet operator|(const TypeSet& other) const {
    TypeSet set = *this;
    for (size_t i = 0; i < set.types_.size(); ++i) set.types_[i] |= other.types_[i];
    return set;
  }
  constexpr bool contains(ValueType type) const {
    return (types_[static_cast<size_t>(type.container)] & bit(type.dtype)) != 0;
  }
  constexpr bool empty() const { return *this == TypeSet(); }
  constexpr bool operator==(const TypeSet&) const = default;

 private:
  static constexpr uint32_t bit(ir::DataType type) { return uint32_t{1} << static_cast<uint32_t>(type); }
  std::array<uint32_t, 5> types_{};  // by container: a bit an element type
};

// "float32, float16, int64": floats first, then integers from the widest down.
std::string to_string(const TypeSet& set);

}  // namespace thaw::ops
