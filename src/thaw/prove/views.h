// Views: what moves elements and computes nothing, in normal form.
//
// A Reshape is its result's shape. A Transpose has no axes of size 1. A Slice cuts any number of axes, before the others where it
// can. Each says what it is of a term that is no view of the same kind, where that can be: views of views are one view.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/prove/constants.h"
#include "thaw/prove/offsets.h"
#include "thaw/prove/term.h"

namespace thaw::proving {

// One axis that is cut.
struct Cut {
  int64_t axis = 0;
  dim::Dim begin, length;  // positions begin, begin + step, …
  int64_t step = 1;
};

// What a term is put together of.
struct Parts {
  int64_t axis = 0;
  std::vector<dim::Dim> lengths;  // along the axis
};

// Axes of a Reshape's operand, and those of its result that they become: the fewest that are as many elements.
struct Block {
  struct Axes {
    size_t first = 0, count = 0;
  };
  Axes from, to;
};
// Of shapes without axes of size 1; nullopt where that is not known.
std::optional<std::vector<Block>> blocks_between(const ops::Shape& from, const ops::Shape& to);
ops::Shape without_ones(const ops::Shape& shape);
// The order of axes that undoes a Transpose.
std::vector<int64_t> inverse_of(std::span<const int64_t> order);
// The shape that broadcasts to `to` as this one does to `from`, where one of the two is reshaped to the other; nullopt where some of what
// becomes one axis is repeated.
std::optional<ops::Shape> reshaped_alike(const ops::Shape& shape, const ops::Shape& from, const ops::Shape& to);

class Views {
 public:
  Views(Terms& terms, Constants& constants) : terms_(terms), constants_(constants) {}

  // Each throws no errors: where shapes are unknown it is not to be called. Shapes are those of the result.
  TermId reshape(TermId x, const ops::Shape& shape);
  TermId transpose(TermId x, std::span<const int64_t> permutation);
  TermId expand(TermId x, const ops::Shape& shape);  // broadcast to exactly this
  TermId slice(TermId x, std::span<const Cut> cuts);
  // Says what a term was cut from, that is no Slice any more: such cuts that follow each other are put together again.
  void remember_cut(TermId made, TermId from, const Cut& cut) {
    if (!terms_.is_inside()) cut_from_.try_emplace(made, from, cut);
  }
  TermId concat(std::span<const TermId> parts, int64_t axis);  // Transposes of all parts go outwards

  // Of a Concat of a few, and of a Reshape of one that keeps the axis; nullopt of all else.
  std::optional<Parts> parts(TermId x) const;

  // The axis of a Reshape's or Transpose's operand that is this one of its result; nullopt where there is none.
  std::optional<int64_t> axis_before(TermId view, int64_t axis) const;

  // Of a Reshape that splits axes of a Transpose: the order in which it moves the pieces. nullopt of all else.
  std::optional<std::vector<int64_t>> order_behind(TermId view) const;

  // Of a Reshape, its operand with no more axes split than this one of its result needs, and where that stands there; nullopt where the
  // axis is made of several.
  std::optional<std::pair<ops::Shape, int64_t>> around(TermId view, int64_t axis) const;

  // The term without the axes of size 1 in front of all others, and without what expands it: what broadcasts alike.
  TermId unexpanded(TermId x);
  // Broadcast to the shape, where it has another: reshaped where only ones are new.
  TermId conform(TermId x, const ops::Shape& shape);

 private:
  bool is_expanded_number(TermId x) const;
  TermId view(const char* op, TermId x, const ops::Shape& shape);
  std::optional<TermId> reshape_inside(TermId x, const ops::Shape& shape);
  std::optional<TermId> concat_reshaped(std::span<const TermId> parts, size_t axis, const ops::Shape& shape);
  std::optional<TermId> transpose_inside(TermId x, std::span<const int64_t> order, const ops::Shape& result);
  std::optional<TermId> transpose_pieces(TermId inner, const ops::Shape& reshaped, std::span<const int64_t> order,
                                         const ops::Shape& result);
  std::optional<std::vector<int64_t>> moved_as(TermId x) const;
  std::optional<TermId> concat_inside(std::span<const TermId> parts, size_t axis, const ops::Shape& shape);
  std::optional<TermId> slice_of_concat(TermId x, const Cut& cut);
  std::optional<TermId> slice_of_expand(TermId x, std::span<const Cut> cuts);  // these two in repeated.cc
  std::optional<TermId> slice_of_tiles(TermId x, const Cut& cut);
  std::optional<TermId> slice_without_ones(TermId x, std::span<const Cut> cuts);
  std::optional<TermId> slice_inside(TermId x, std::span<const Cut> cuts);

  Terms& terms_;
  Constants& constants_;
  std::unordered_map<TermId, std::pair<TermId, Cut>>
      cut_from_;  // what is no Slice, but was cut once: from what, and how
};

bool is_one(dim::Dim d);

}  // namespace thaw::proving
