// Cuts of what is repeated.
#include <algorithm>

#include "thaw/prove/views.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

// Each repetition is as good as another.
std::optional<TermId> Views::slice_of_expand(TermId x, std::span<const Cut> cuts) {
  const Term of = terms_[x];
  const TermId inner = of.is("Expand") ? of.arguments[0] : x;
  if (inner == x || !is_known(of.shape) || !is_known(terms_[inner].shape)) return std::nullopt;
  const Shape& own = *terms_[inner].shape;
  const auto missing = static_cast<int64_t>(of.shape->size() - own.size());
  Shape shape = *of.shape;
  std::vector<Cut> left;
  for (const Cut& cut : cuts) {
    shape[static_cast<size_t>(cut.axis)] = cut.length;
    if (cut.axis < missing || is_one(own[static_cast<size_t>(cut.axis - missing)])) continue;
    left.push_back({cut.axis - missing, cut.begin, cut.length, cut.step});
  }
  if (left.size() == cuts.size()) return std::nullopt;  // none along an axis that is repeated
  return expand(left.empty() ? inner : slice(inner, left), shape);
}

// Of repetitions that follow each other along one axis, some of them, or a part of one.
std::optional<TermId> Views::slice_of_tiles(TermId x, const Cut& cut) {
  const Term of = terms_[x];
  const TermId repeated = of.is("Reshape") ? of.arguments[0] : x;
  if (!terms_[repeated].is("Expand") || !is_known(of.shape) || !is_known(terms_[repeated].shape)) return std::nullopt;
  const Shape from = *terms_[repeated].shape, to = *of.shape;
  const auto begin = cut.begin.constant(), length = cut.length.constant();
  const auto blocks = blocks_between(without_ones(from), without_ones(to));
  if (!blocks || !begin || !length || *length <= 0 || cut.step != 1) return std::nullopt;
  const auto place =
      static_cast<size_t>(std::count_if(to.begin(), to.begin() + cut.axis, [](Dim d) { return !is_one(d); }));
  const auto block = std::ranges::find_if(
      *blocks, [&](const Block& one) { return place >= one.to.first && place < one.to.first + one.to.count; });
  if (block == blocks->end() || block->from.count != 2 || block->to.count != 1) return std::nullopt;
  std::vector<int64_t> axes;  // of other sizes than 1
  for (size_t k = 0; k < from.size(); ++k)
    if (!is_one(from[k])) axes.push_back(static_cast<int64_t>(k));
  const int64_t outer = axes[block->from.first], inner = axes[block->from.first + 1];
  const auto each = from[static_cast<size_t>(inner)].constant();
  if (!each || *each <= 0) return std::nullopt;
  const int64_t first = *begin / *each, last = (*begin + *length - 1) / *each;
  std::vector<Cut> cuts;
  if (*begin % *each == 0 && *length % *each == 0) {
    cuts = {{outer, first, *length / *each, 1}};
  } else if (first == last) {
    cuts = {{outer, first, 1, 1}, {inner, *begin - first * *each, *length, 1}};
  } else {
    return std::nullopt;
  }
  const auto made = slice_of_expand(repeated, cuts);
  if (!made) return std::nullopt;
  Shape shape = to;
  shape[static_cast<size_t>(cut.axis)] = cut.length;
  return reshape(*made, shape);
}

}  // namespace thaw::proving
