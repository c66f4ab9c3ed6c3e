// Arithmetic on elements as tensors of a data type do it: what an element-wise operator's value rule calls.
//
// Element works on exact numbers; a tensor rounds or wraps. `typed<F>(dtype)` is F as tensors of that type compute
// it: float rounds plain numbers, int32 and unsigned types are unknown where the exact result does not fit. Types that
// shape arithmetic does not use (8- and 16-bit ones) are not followed: null.
#pragma once

#include <span>

#include "thaw/ir/data/types.h"
#include "thaw/ops/rule/element.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using Operands = std::span<const Element>;

// Rounds or drops what a tensor of this type could not hold; unknown for types that are not followed.
Element fit(const Element& e, ir::DataType dtype);

template <ElementFunction F, ir::DataType kType>
Element fitted(Operands a) {
  return fit(F(a), kType);
}

template <ElementFunction F>
ElementFunction typed(ir::DataType dtype) {
  using ir::DataType;
  switch (dtype) {
    case DataType::kInt64:
      return F;
    case DataType::kDouble:
      return F;
    case DataType::kInt32:
      return fitted<F, DataType::kInt32>;
    case DataType::kUint32:
      return fitted<F, DataType::kUint32>;
    case DataType::kUint64:
      return fitted<F, DataType::kUint64>;
    case DataType::kFloat:
      return fitted<F, DataType::kFloat>;
    default:
      return nullptr;
  }
}

// Sets output 0's elements to F of the inputs', where tensors of this type are followed.
template <ElementFunction F>
void set_typed_values(Context& ctx, ir::DataType dtype) {
  if (ElementFunction f = typed<F>(dtype)) set_elementwise_values(ctx, f);
}

// a <=> b as far as the known ranges tell: each member is true only when it holds for every value of the symbols.
struct Order {
  bool less = false, equal = false, greater = false, at_most = false, at_least = false, differ = false;
};
Order compare(const Element& a, const Element& b);

Element minimum(const Element& a, const Element& b);
Element maximum(const Element& a, const Element& b);
Element absolute(const Element& a);
Element modulo(const Element& a, const Element& b);     // the sign of b: Mod with fmod = 0
Element remainder(const Element& a, const Element& b);  // the sign of a: Mod with fmod = 1

// Whether every value that e can have is at least `bound`.
bool at_least(const Element& e, int64_t bound);

}  // namespace thaw::ops
