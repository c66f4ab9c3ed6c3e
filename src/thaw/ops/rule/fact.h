// What is known of a value: its kind, element type, shape, and the elements of small tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "thaw/dim/expr/dim.h"
#include "thaw/ir/data/types.h"
#include "thaw/ops/rule/element.h"

namespace thaw::ops {

using Shape = std::vector<dim::Dim>;  // one Dim an axis; a Dim may be unknown

// Between what all elements of a tensor of integers lie, both ends included.
struct ValueRange {
  dim::Dim lowest, highest;
  bool is_reached = false;  // where there are elements, one is the lowest and one the highest
};

struct Fact {
  enum class Kind : uint8_t { kUnknown, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };

  Kind kind = Kind::kUnknown;
  ir::DataType dtype = ir::DataType::kUndefined;  // tensors; kUndefined: not known
  std::optional<Shape> shape;                     // tensors; nullopt: rank not known, or above kMaxRank
  ElementsPtr elements;  // tensors of constant shape and at most kMaxElements elements; may be null
  std::shared_ptr<const ValueRange>
      range;  // tensors of integers; null: not known, or not asked for (Context::wants_values)

  // Sequences and optionals: what every element is known to be; null: nothing is known.
  std::shared_ptr<const Fact> element;
  // Sequences of known length: each element. Optionals: one element when present, none when empty.
  std::shared_ptr<const std::vector<Fact>> items;
  dim::Dim length;  // sequences: number of elements, unknown when not known

  bool is_tensor() const { return kind == Kind::kTensor; }
  bool has_rank() const { return shape.has_value(); }
  int rank() const { return shape ? static_cast<int>(shape->size()) : -1; }
  // Dim of an axis 0 <= axis < rank.
  dim::Dim dim(int axis) const { return (*shape)[axis]; }
  dim::Dim num_elements() const { return shape ? dim::product(*shape) : dim::Dim(); }

  static Fact tensor(ir::DataType dtype, std::optional<Shape> shape) {
    Fact fact;
    fact.kind = Kind::kTensor;
    fact.dtype = dtype;
    fact.shape = std::move(shape);
    return fact;
  }
  static Fact sequence(std::shared_ptr<const Fact> element, dim::Dim length = {}) {
    Fact fact;
    fact.kind = Kind::kSequence;
    fact.element = std::move(element);
    fact.length = length;
    return fact;
  }
};

// A tensor of more axes than this has no rank that is followed: no backend runs one, and its sizes would be the file's
// to multiply.
inline constexpr size_t kMaxRank = 64;

// Small integer (and scalar float) tensors are followed element by element up to this many elements.
inline constexpr int64_t kMaxElements = 1024;

// The kind of facts about values that a file declares so.
Fact::Kind kind_of(ir::Type::Kind kind);

// Whether the same is known of both; unlike dim::same, what is unknown in both counts as the same.
bool is_same_knowledge(const Fact& a, const Fact& b);

// What holds whichever of the two a value turns out to be: a dim that differs becomes unknown (If branches, loop
// states, elements of a sequence).
Fact join(const Fact& a, const Fact& b);

}  // namespace thaw::ops
