// Axes that a Reshape splits into pieces.
#include <algorithm>
#include <vector>

#include "thaw/prove/views.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

std::optional<std::pair<Shape, int64_t>> Views::around(TermId view, int64_t axis) const {
  const Term &term = terms_[view], &of = terms_[term.arguments[0]];
  if (!is_known(term.shape) || !is_known(of.shape) || is_one((*term.shape)[static_cast<size_t>(axis)]))
    return std::nullopt;
  const Shape from = without_ones(*of.shape), to = without_ones(*term.shape);
  const auto place = static_cast<size_t>(
      std::count_if(term.shape->begin(), term.shape->begin() + axis, [](Dim d) { return !is_one(d); }));
  const auto blocks = blocks_between(from, to);
  if (!blocks) return std::nullopt;
  const auto block = std::ranges::find_if(
      *blocks, [&](const Block& one) { return place >= one.to.first && place < one.to.first + one.to.count; });
  if (block->from.count != 1) return std::nullopt;
  Shape shape(from.begin(), from.begin() + static_cast<ptrdiff_t>(block->from.first));
  Dim first = 1, last = 1;  // what is split off on both sides
  for (size_t k = block->to.first; k < block->to.first + block->to.count; ++k) {
    if (k < place) first = first * to[k];
    if (k > place) last = last * to[k];
  }
  if (!first.is_known() || !last.is_known()) return std::nullopt;
  if (!is_one(first)) shape.push_back(first);
  const auto at = static_cast<int64_t>(shape.size());
  shape.push_back(to[place]);
  if (!is_one(last)) shape.push_back(last);
  shape.insert(shape.end(), from.begin() + static_cast<ptrdiff_t>(block->from.first) + 1, from.end());
  return std::pair(std::move(shape), at);
}

// Reshapes of all parts go after a Concat, where they keep its axis and are of the same shapes but for that. Of a constant that is any.
std::optional<TermId> Views::concat_reshaped(std::span<const TermId> parts, size_t axis, const Shape& shape) {
  std::vector<TermId> inner;
  const auto is_view = [&](TermId part) {
    return terms_[part].is("Reshape") && is_known(terms_[terms_[part].arguments[0]].shape);
  };
  const auto first = std::ranges::find_if(parts, is_view);
  if (first == parts.end()) return std::nullopt;
  const auto inner_axis = axis_before(*first, static_cast<int64_t>(axis));
  const Shape before = *terms_[terms_[*first].arguments[0]].shape;
  if (!inner_axis || is_same(without_ones(before), without_ones(*terms_[*first].shape))) return std::nullopt;
  const auto at = static_cast<size_t>(*inner_axis);
  for (const TermId part : parts) {
    Shape own = before;
    own[at] = (*terms_[part].shape)[axis];
    if (is_view(part)) {
      const TermId of = terms_[part].arguments[0];
      if (axis_before(part, static_cast<int64_t>(axis)) != inner_axis || !is_same(*terms_[of].shape, own))
        return std::nullopt;
      inner.push_back(of);
    } else if (constants_.is_constant(part)) {
      inner.push_back(reshape(part, own));
    } else {
      return std::nullopt;
    }
  }
  return reshape(concat(inner, *inner_axis), shape);
}

std::optional<std::vector<int64_t>> Views::order_behind(TermId view) const {
  const Term& reshape = terms_[view];
  if (!reshape.is("Reshape") || !terms_[reshape.arguments[0]].is("Transpose")) return std::nullopt;
  const Term& moved = terms_[reshape.arguments[0]];
  if (!is_known(reshape.shape) || !is_known(moved.shape) || std::ranges::any_of(*moved.shape, is_one) ||
      std::ranges::any_of(*reshape.shape, is_one))
    return std::nullopt;
  const auto blocks = blocks_between(*moved.shape, *reshape.shape);
  if (!blocks || !std::ranges::all_of(*blocks, [](const Block& one) { return one.from.count == 1; }))
    return std::nullopt;
  if (blocks->size() != moved.ints.size()) return std::nullopt;
  // Where the pieces of each axis of the operand would begin, if they were split off before they are moved.
  const std::vector<int64_t> inverse = inverse_of(moved.ints);
  std::vector<int64_t> first(blocks->size());
  int64_t next = 0;
  for (size_t axis = 0; axis < inverse.size(); ++axis) {
    first[axis] = next;
    next += static_cast<int64_t>((*blocks)[static_cast<size_t>(inverse[axis])].to.count);
  }
  std::vector<int64_t> order;
  for (const Block& block : *blocks)
    for (size_t k = 0; k < block.to.count; ++k)
      order.push_back(first[static_cast<size_t>(moved.ints[block.from.first])] + static_cast<int64_t>(k));
  return order;
}

}  // namespace thaw::proving
