#include "thaw/prove/views.h"

#include <algorithm>
#include <numeric>

#include "thaw/ops/rule/small_tensor.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

bool is_one(Dim d) { return d.is_constant(1); }

Shape without_ones(const Shape& shape) {
  Shape kept;
  std::ranges::copy_if(shape, std::back_inserter(kept), [](Dim d) { return !is_one(d); });
  return kept;
}

bool Views::is_expanded_number(TermId x) const {
  const Term& term = terms_[x];
  if (!term.is("Expand")) return false;
  const Term& of = terms_[term.arguments[0]];
  return of.shape && of.shape->empty();
}

// A Reshape or an Expand: a term that its result's shape says all of.
TermId Views::view(const char* op, TermId x, const Shape& shape) {
  Term term;
  term.op = op;
  term.arguments = {x};
  term.dtype = terms_[x].dtype;
  term.shape = shape;
  term.dims = shape;
  return terms_.add(std::move(term));
}

TermId Views::reshape(TermId x, const Shape& shape) {
  while (terms_[x].is("Reshape")) x = terms_[x].arguments[0];
  const Term& of = terms_[x];
  if (of.shape && is_same(*of.shape, shape)) return x;
  if (const auto dims = constant_dims(shape); dims && of.kind == Term::Kind::kConstant && is_known(of.shape)) {
    const auto made = constants_.moved(x, *dims, [&] {
      std::vector<int64_t> same(static_cast<size_t>(product_of(*dims)));
      std::iota(same.begin(), same.end(), 0);
      return same;
    });
    if (made) return *made;
  }
  if (const auto dims = constant_dims(shape); dims && of.kind == Term::Kind::kSizes)
    return constants_.sizes(of.dtype, *dims, of.dims);
  if (is_expanded_number(x)) return expand(of.arguments[0], shape);
  if (of.shape && of.shape->empty()) return expand(x, shape);
  if (const auto inside = reshape_inside(x, shape)) return *inside;
  if (of.is("Expand") && is_known(of.shape) && std::ranges::any_of(*of.shape, is_one))
    if (const auto inside = reshape_inside(x, without_ones(*of.shape))) x = *inside;
  return terms_[x].is("Expand") || !terms_[x].is("Reshape") ? view("Reshape", x, shape) : reshape(x, shape);
}

// Axes of size 1 are put in and left out before others are repeated.
std::optional<TermId> Views::reshape_inside(TermId x, const Shape& shape) {
  const Term& of = terms_[x];
  if (!of.is("Expand") || !is_known(of.shape) || !is_known(terms_[of.arguments[0]].shape)) return std::nullopt;
  if (!is_same(without_ones(*of.shape), without_ones(shape))) return std::nullopt;
  const TermId inner = of.arguments[0];
  const Shape& repeated = *terms_[inner].shape;
  Shape sizes;  // of the operand, along the axes of the result that are not 1
  for (size_t k = 0; k < of.shape->size(); ++k) {
    const size_t missing = of.shape->size() - repeated.size();
    if (!is_one((*of.shape)[k])) sizes.push_back(k < missing ? Dim(1) : repeated[k - missing]);
  }
  Shape before(shape.size(), Dim(1));
  for (size_t k = 0, at = 0; k < shape.size(); ++k)
    if (!is_one(shape[k])) before[k] = sizes[at++];
  return expand(reshape(inner, before), shape);
}

namespace {

// The axes of a Reshape's operand that make up each axis of its result; nullopt where an axis is split, or none is made of several.
// Axes of size 1 are with the next one.
std::optional<std::vector<std::vector<int64_t>>> merged_axes(const Shape& from, const Shape& to) {
  std::vector<std::vector<int64_t>> groups(to.size());
  size_t at = 0;
  for (size_t k = 0; k < to.size(); ++k) {
    Dim size = 1;
    while (groups[k].empty() || !dim::same(size, to[k])) {
      if (at == from.size()) return std::nullopt;
      size = size * from[at];
      if (size.is_unknown()) return std::nullopt;
      groups[k].push_back(static_cast<int64_t>(at++));
    }
  }
  for (; at < from.size(); ++at) {
    if (!is_one(from[at]) || groups.empty()) return std::nullopt;
    groups.back().push_back(static_cast<int64_t>(at));
  }
  const bool is_merged = std::ranges::any_of(groups, [&](const std::vector<int64_t>& group) {
    return std::ranges::count_if(group, [&](int64_t axis) { return !is_one(from[static_cast<size_t>(axis)]); }) > 1;
  });
  if (!is_merged) return std::nullopt;
  return groups;
}

// A part of an axis of a Reshape's operand, and of an axis of its result.
struct Piece {
  size_t from = 0, to = 0;
  Dim size;
};

// What both shapes are made of, in order; nullopt where several axes become several others.
std::optional<std::vector<Piece>> pieces_between(const Shape& from, const Shape& to) {
  const auto blocks = blocks_between(from, to);
  if (!blocks) return std::nullopt;
  std::vector<Piece> pieces;
  for (const Block& block : *blocks) {
    if (block.from.count > 1 && block.to.count > 1) return std::nullopt;
    for (size_t i = 0; i < std::max(block.from.count, block.to.count); ++i) {
      const bool is_split = block.to.count > 1;
      const size_t in = block.from.first + (is_split ? 0 : i), out = block.to.first + (is_split ? i : 0);
      pieces.push_back({in, out, is_split ? to[out] : from[in]});
    }
  }
  return pieces;
}

}  // namespace

std::optional<std::vector<Block>> blocks_between(const Shape& from, const Shape& to) {
  std::vector<Block> blocks;
  size_t i = 0, k = 0;
  // The fewest axes of both that are as many elements.
  const auto next = [&]() -> std::optional<Block> {
    Dim in = 1;
    for (size_t n = 1; i + n <= from.size(); ++n) {
      in = in * from[i + n - 1];
      Dim out = 1;
      for (size_t m = 1; k + m <= to.size(); ++m) {
        out = out * to[k + m - 1];
        if (in.is_known() && out.is_known() && dim::same(in, out)) return Block{{i, n}, {k, m}};
      }
    }
    return std::nullopt;
  };
  while (i < from.size() && k < to.size()) {
    const auto block = next();
    if (!block) return std::nullopt;
    blocks.push_back(*block);
    i += block->from.count;
    k += block->to.count;
  }
  if (i != from.size() || k != to.size()) return std::nullopt;
  return blocks;
}

std::vector<int64_t> inverse_of(std::span<const int64_t> order) {
  std::vector<int64_t> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return inverse;
}

std::optional<Shape> reshaped_alike(const Shape& shape, const Shape& from, const Shape& to) {
  const auto blocks = blocks_between(without_ones(from), without_ones(to));
  if (!blocks || shape.size() > from.size()) return std::nullopt;
  const size_t missing = from.size() - shape.size();
  std::vector<size_t> in, out;  // axes of other sizes than 1
  for (size_t i = 0; i < from.size(); ++i) {
    const bool is_within = i < missing || is_one(shape[i - missing]) || dim::same(shape[i - missing], from[i]);
    if (!is_within) return std::nullopt;
    if (!is_one(from[i])) in.push_back(i);
  }
  for (size_t i = 0; i < to.size(); ++i)
    if (!is_one(to[i])) out.push_back(i);
  Shape made(to.size(), Dim(1));
  for (const Block& block : *blocks) {
    size_t repeated = 0;
    for (size_t i = 0; i < block.from.count; ++i) {
      const size_t axis = in[block.from.first + i];
      if (axis < missing || is_one(shape[axis - missing])) ++repeated;
    }
    if (repeated == block.from.count) continue;
    if (repeated > 0) return std::nullopt;
    for (size_t i = 0; i < block.to.count; ++i) made[out[block.to.first + i]] = to[out[block.to.first + i]];
  }
  return made;
}

// Axes are moved before they are repeated, and before what is repeated is merged.
std::optional<TermId> Views::transpose_inside(TermId x, std::span<const int64_t> order, const Shape& result) {
  const Term of = terms_[x];
  if (!of.is("Expand") && !of.is("Reshape")) return std::nullopt;
  const TermId inner = of.arguments[0];
  if (!is_known(terms_[inner].shape) || !is_known(of.shape)) return std::nullopt;
  if (of.is("Expand")) {
    Shape shape = *terms_[inner].shape;
    shape.insert(shape.begin(), order.size() - shape.size(), Dim(1));
    return expand(transpose(reshape(inner, shape), order), result);
  }
  if (terms_[inner].is("Expand")) {
    const auto groups = merged_axes(*terms_[inner].shape, *of.shape);
    if (!groups) return std::nullopt;
    std::vector<int64_t> moved;
    for (const int64_t axis : order) {
      const auto& group = (*groups)[static_cast<size_t>(axis)];
      moved.insert(moved.end(), group.begin(), group.end());
    }
    return reshape(transpose(inner, moved), result);
  }
  return transpose_pieces(inner, *of.shape, order, result);
}

// What is reshaped is moved as itself: its axes are split no further than into what is moved apart.
std::optional<TermId> Views::transpose_pieces(TermId inner, const Shape& reshaped, std::span<const int64_t> order,
                                              const Shape& result) {
  const auto pieces = pieces_between(without_ones(*terms_[inner].shape), reshaped);
  if (!pieces) return std::nullopt;
  std::vector<size_t> moved;  // pieces in the order of the result
  for (const int64_t axis : order)
    for (size_t i = 0; i < pieces->size(); ++i)
      if ((*pieces)[i].to == static_cast<size_t>(axis)) moved.push_back(i);
  std::vector<size_t> place(pieces->size());  // of each piece among those
  for (size_t i = 0; i < moved.size(); ++i) place[moved[i]] = i;
  // What stays together is one piece.
  std::vector<Piece> kept;
  std::vector<size_t> kept_place;
  for (size_t i = 0; i < pieces->size(); ++i) {
    const Piece& one = (*pieces)[i];
    if (!kept.empty() && kept.back().from == one.from && place[i - 1] + 1 == place[i]) {
      kept.back().size = kept.back().size * one.size;
      if (kept.back().size.is_unknown()) return std::nullopt;
      continue;
    }
    kept.push_back(one);
    kept_place.push_back(place[i]);
  }
  TermId base = inner;
  if (terms_[inner].is("Transpose")) {  // one Transpose for both
    base = terms_[inner].arguments[0];
    const std::vector<int64_t> axes = terms_[inner].ints;
    std::vector<size_t> sorted(kept.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::sort(sorted, {}, [&](size_t i) { return std::pair(axes[kept[i].from], i); });
    std::vector<Piece> by_base;
    std::vector<size_t> place_by_base;
    for (const size_t i : sorted) {
      by_base.push_back(kept[i]);
      place_by_base.push_back(kept_place[i]);
    }
    kept = std::move(by_base);
    kept_place = std::move(place_by_base);
  }
  Shape sizes;
  for (const Piece& one : kept) sizes.push_back(one.size);
  if (base == inner && is_same(sizes, reshaped)) return std::nullopt;
  std::vector<int64_t> permutation(kept.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::ranges::sort(permutation, {}, [&](int64_t i) { return kept_place[static_cast<size_t>(i)]; });
  return reshape(transpose(reshape(base, sizes), permutation), result);
}

TermId Views::transpose(TermId x, std::span<const int64_t> permutation) {
  const Shape shape = *terms_[x].shape;
  Shape result;
  for (const int64_t axis : permutation) result.push_back(shape[static_cast<size_t>(axis)]);
  if (std::ranges::is_sorted(permutation)) return x;
  if (terms_[x].kind == Term::Kind::kConstant) {
    const auto dims = constant_dims(shape), to = constant_dims(result);
    const auto made = constants_.moved(x, *to, [&] {
      const auto from = ops::strides_of(*dims);
      std::vector<int64_t> steps;
      for (const int64_t axis : permutation) steps.push_back(from[static_cast<size_t>(axis)]);
      return offsets(*to, steps, 0);
    });
    if (made) return *made;
  }
  // Axes of size 1 are put in afterwards.
  std::vector<int64_t> place(shape.size(), -1);
  int64_t count = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!is_one(shape[i])) place[i] = count++;
  std::vector<int64_t> order;
  for (const int64_t axis : permutation)
    if (place[static_cast<size_t>(axis)] >= 0) order.push_back(place[static_cast<size_t>(axis)]);
  TermId of = reshape(x, without_ones(shape));
  if (std::ranges::is_sorted(order)) return reshape(of, result);
  if (terms_[of].is("Transpose")) {
    std::vector<int64_t> composed;
    for (const int64_t axis : order) composed.push_back(terms_[of].ints[static_cast<size_t>(axis)]);
    order = composed;
    of = terms_[of].arguments[0];
    if (std::ranges::is_sorted(order)) return reshape(of, result);
  }
  Shape moved;
  for (const int64_t axis : order) moved.push_back((*terms_[of].shape)[static_cast<size_t>(axis)]);
  if (const auto inside = transpose_inside(of, order, moved)) return reshape(*inside, result);
  Term term;
  term.op = "Transpose";
  term.ints = order;
  term.arguments = {of};
  term.dtype = terms_[of].dtype;
  term.shape = std::move(moved);
  return reshape(terms_.add(std::move(term)), result);
}

TermId Views::unexpanded(TermId x) {
  while (true) {
    const Term& term = terms_[x];
    if (term.is("Expand")) {
      x = term.arguments[0];
      continue;
    }
    if (const TermId fewer = constants_.unrepeated(x); fewer != x) {
      x = fewer;
      continue;
    }
    if (!is_known(term.shape)) return x;
    size_t ones = 0;
    while (ones < term.shape->size() && is_one((*term.shape)[ones])) ++ones;
    if (ones == 0) return x;
    x = reshape(x, Shape(term.shape->begin() + static_cast<ptrdiff_t>(ones), term.shape->end()));
    if (!terms_[x].is("Expand")) return x;
  }
}

TermId Views::expand(TermId x, const Shape& shape) {
  if (terms_[x].shape && is_same(*terms_[x].shape, shape)) return x;
  x = unexpanded(x);
  const Term& of = terms_[x];
  if (is_known(of.shape)) {
    if (is_same(*of.shape, shape)) return x;
    const size_t rank = of.shape->size();
    const bool only_ones = rank < shape.size() &&
                           is_same(*of.shape, Shape(shape.end() - static_cast<ptrdiff_t>(rank), shape.end())) &&
                           std::all_of(shape.begin(), shape.end() - static_cast<ptrdiff_t>(rank), is_one);
    const bool was_more =
        of.is("Reshape") && std::ranges::all_of(shape, is_one);  // of one element that had axes before
    if (only_ones && (rank > 0 || was_more)) return reshape(x, shape);
  }
  return view("Expand", x, shape);
}

TermId Views::conform(TermId x, const Shape& shape) {
  return terms_[x].shape && is_same(*terms_[x].shape, shape) ? x : expand(x, shape);
}

// A cut that falls on the borders of parts is those parts.
std::optional<TermId> Views::slice_of_concat(TermId x, const Cut& cut) {
  const Term& of = terms_[x];
  if (!of.is("Concat") || of.ints[0] != cut.axis || cut.step != 1) return std::nullopt;
  const Dim end = cut.begin + cut.length;
  std::vector<TermId> kept;
  Dim at = 0;
  bool is_in = false;
  for (const TermId part : of.arguments) {
    if (!is_in && dim::same(at, cut.begin)) is_in = true;
    if (is_in && dim::same(at, end)) break;
    if (is_in) kept.push_back(part);
    at = at + (*terms_[part].shape)[static_cast<size_t>(cut.axis)];
    if (at.is_unknown()) return std::nullopt;
  }
  if (!is_in || kept.empty() || !dim::same(at, end)) return std::nullopt;
  return concat(kept, cut.axis);
}

namespace {

// The cut of a Reshape's operand that is this one of its result; nullopt where a cut of the result is none of the operand.
// Axes of size 1 are nowhere in particular.
std::optional<Cut> cut_before_reshape(const Shape& from, const Shape& to, const Cut& cut) {
  std::vector<size_t> in, out;  // axes of other sizes than 1
  for (size_t i = 0; i < from.size(); ++i)
    if (!is_one(from[i])) in.push_back(i);
  for (size_t i = 0; i < to.size(); ++i)
    if (!is_one(to[i])) out.push_back(i);
  const auto found = std::ranges::find(out, static_cast<size_t>(cut.axis));
  if (found == out.end()) return std::nullopt;
  const auto at = static_cast<size_t>(found - out.begin());
  const auto moved_to = [&](size_t place) {
    Cut moved = cut;
    moved.axis = static_cast<int64_t>(in[place]);
    return moved;
  };
  size_t begin = 0, end = 0;  // how many are the same
  while (begin < in.size() && begin < out.size() && dim::same(from[in[begin]], to[out[begin]])) ++begin;
  if (at < begin) return moved_to(at);
  while (end < in.size() && end < out.size() && dim::same(from[in[in.size() - 1 - end]], to[out[out.size() - 1 - end]]))
    ++end;
  const size_t behind = out.size() - at;
  if (behind <= end) return moved_to(in.size() - behind);
  const auto blocks = blocks_between(without_ones(from), without_ones(to));
  if (!blocks) return std::nullopt;
  const auto block = std::ranges::find_if(
      *blocks, [&](const Block& one) { return at >= one.to.first && at < one.to.first + one.to.count; });
  if (block == blocks->end() || block->from.count != 1) return std::nullopt;
  Cut moved = moved_to(block->from.first);
  if (block->to.count == 1) return moved;
  // The first of several axes that one is split into.
  if (at != block->to.first || cut.step != 1) return std::nullopt;
  Dim within = 1;
  for (size_t k = 1; k < block->to.count; ++k) within = within * to[out[at + k]];
  moved.begin = cut.begin * within;
  moved.length = cut.length * within;
  return moved.begin.is_known() && moved.length.is_known() ? std::optional(moved) : std::nullopt;
}

}  // namespace

std::optional<Parts> Views::parts(TermId x) const {
  constexpr size_t kMostParts = 8;
  const Term& term = terms_[x];
  const Term& whole = term.is("Reshape") ? terms_[term.arguments[0]] : term;
  if (!whole.is("Concat") || whole.arguments.size() > kMostParts || !is_known(whole.shape) || !is_known(term.shape))
    return std::nullopt;
  Parts parts{whole.ints[0], {}};
  for (const TermId part : whole.arguments) {
    if (!is_known(terms_[part].shape)) return std::nullopt;
    parts.lengths.push_back((*terms_[part].shape)[static_cast<size_t>(parts.axis)]);
  }
  if (!term.is("Reshape")) return parts;
  for (int64_t axis = 0; axis < static_cast<int64_t>(term.shape->size()); ++axis) {
    if (axis_before(x, axis) != parts.axis) continue;
    parts.axis = axis;
    return parts;
  }
  return std::nullopt;
}

std::optional<int64_t> Views::axis_before(TermId view, int64_t axis) const {
  const Term &term = terms_[view], &of = terms_[term.arguments[0]];
  if (term.is("Transpose")) return term.ints[static_cast<size_t>(axis)];
  if (!is_known(term.shape) || !is_known(of.shape)) return std::nullopt;
  const auto before = cut_before_reshape(*of.shape, *term.shape, {axis, 0, 1, 1});
  return before && before->length.is_constant(1) ? std::optional(before->axis) : std::nullopt;
}

// Cuts go inwards: what is left of a view is cut before it.
std::optional<TermId> Views::slice_inside(TermId x, std::span<const Cut> cuts) {
  const Term of = terms_[x];
  if (!of.is("Transpose") && !of.is("Reshape")) return std::nullopt;
  if (!is_known(of.shape) || !is_known(terms_[of.arguments[0]].shape)) return std::nullopt;
  Shape shape = *of.shape;
  std::vector<Cut> inner;
  for (const Cut& cut : cuts) {
    shape[static_cast<size_t>(cut.axis)] = cut.length;
    if (of.is("Transpose")) {
      inner.push_back(cut);
      inner.back().axis = of.ints[static_cast<size_t>(cut.axis)];
    } else {
      const auto before = cut_before_reshape(*terms_[of.arguments[0]].shape, *of.shape, cut);
      if (!before || std::ranges::count(inner, before->axis, &Cut::axis) > 0) return std::nullopt;
      inner.push_back(*before);
    }
  }
  if (!is_known(shape)) return std::nullopt;
  const TermId cut = slice(of.arguments[0], inner);
  return of.is("Transpose") ? transpose(cut, of.ints) : reshape(cut, shape);
}

// Of a Reshape that is cut after all, axes of size 1 are put in afterwards.
std::optional<TermId> Views::slice_without_ones(TermId x, std::span<const Cut> cuts) {
  if (!terms_[x].is("Reshape")) return std::nullopt;
  const Shape shape = *terms_[x].shape;
  std::vector<int64_t> place;
  int64_t count = 0;
  for (const Dim d : shape) place.push_back(is_one(d) ? -1 : count++);
  if (count == static_cast<int64_t>(shape.size())) return std::nullopt;
  std::vector<Cut> moved(cuts.begin(), cuts.end());
  for (Cut& cut : moved) {
    cut.axis = place[static_cast<size_t>(cut.axis)];
    if (cut.axis < 0) return std::nullopt;
  }
  return slice(reshape(x, without_ones(shape)), moved);
}

TermId Views::slice(TermId x, std::span<const Cut> cuts) {
  // Those that take all of an axis are none.
  std::vector<Cut> left;
  for (const Cut& cut : cuts) {
    const Dim size = (*terms_[x].shape)[static_cast<size_t>(cut.axis)];
    if (!(cut.step == 1 && cut.begin.is_constant(0) && dim::same(cut.length, size))) left.push_back(cut);
  }
  if (left.empty()) return x;
  if (left.size() == 1)
    if (const auto parts = slice_of_concat(x, left[0])) return *parts;
  auto repeated = slice_of_expand(x, left);
  if (!repeated && left.size() == 1) repeated = slice_of_tiles(x, left[0]);
  if (repeated) {
    if (left.size() == 1) remember_cut(*repeated, x, left[0]);
    return *repeated;
  }
  if (const auto inside = slice_inside(x, left)) {
    if (left.size() == 1) remember_cut(*inside, x, left[0]);
    return *inside;
  }
  if (terms_[x].is("Slice")) {
    const Term& of = terms_[x];
    std::vector<Cut> both;
    for (size_t i = 0; i < of.ints.size() / 2; ++i)
      both.push_back({of.ints[2 * i], of.dims[2 * i], of.dims[2 * i + 1], of.ints[2 * i + 1]});
    for (const Cut& cut : left) {
      const auto same = std::ranges::find(both, cut.axis, &Cut::axis);
      if (same == both.end()) {
        both.push_back(cut);
      } else {
        *same = {cut.axis, same->begin + cut.begin * Dim(same->step), cut.length, same->step * cut.step};
      }
    }
    return slice(of.arguments[0], both);
  }
  std::ranges::sort(left, {}, &Cut::axis);
  Shape shape = *terms_[x].shape;
  for (const Cut& cut : left) shape[static_cast<size_t>(cut.axis)] = cut.length;
  if (is_expanded_number(x)) return expand(terms_[x].arguments[0], shape);
  const auto from = constant_dims(terms_[x].shape), to = constant_dims(shape);
  if (from && to && terms_[x].kind == Term::Kind::kConstant &&
      std::ranges::all_of(left, [](const Cut& cut) { return cut.begin.is_constant(); })) {
    const auto made = constants_.moved(x, *to, [&] {
      std::vector<int64_t> steps = ops::strides_of(*from);
      int64_t first = 0;
      for (const Cut& cut : left) {
        first += *cut.begin.constant() * steps[static_cast<size_t>(cut.axis)];
        steps[static_cast<size_t>(cut.axis)] *= cut.step;
      }
      return offsets(*to, steps, first);
    });
    if (made) return *made;
  }
  if (const auto inside = slice_without_ones(x, left)) return reshape(*inside, shape);
  Term term;
  term.op = "Slice";
  term.arguments = {x};
  term.dtype = terms_[x].dtype;
  term.shape = shape;
  for (const Cut& cut : left) {
    term.ints.insert(term.ints.end(), {cut.axis, cut.step});
    term.dims.insert(term.dims.end(), {cut.begin, cut.length});
  }
  return terms_.add(std::move(term));
}

// Axes of size 1 are put in afterwards, and what moves the axes of all parts alike goes outwards.
std::optional<TermId> Views::concat_inside(std::span<const TermId> parts, size_t axis, const Shape& shape) {
  std::vector<bool> is_left_out(shape.size(), false);
  for (size_t k = 0; k < shape.size(); ++k)
    is_left_out[k] =
        k != axis && std::ranges::all_of(parts, [&](TermId part) { return is_one((*terms_[part].shape)[k]); });
  if (std::ranges::count(is_left_out, true) > 0) {
    std::vector<TermId> fewer;
    for (const TermId part : parts) {
      Shape kept;
      for (size_t k = 0; k < shape.size(); ++k)
        if (!is_left_out[k]) kept.push_back((*terms_[part].shape)[k]);
      fewer.push_back(reshape(part, kept));
    }
    const auto before = std::count(is_left_out.begin(), is_left_out.begin() + static_cast<ptrdiff_t>(axis), true);
    return reshape(concat(fewer, static_cast<int64_t>(axis) - before), shape);
  }
  // Of a part with axes of size 1 the Transpose may be a Reshape, of a constant it is none.
  std::vector<int64_t> order;
  for (const TermId part : parts) {
    const auto moved = moved_as(part);
    if (!moved) continue;
    if (!order.empty() && order != *moved) return std::nullopt;
    order = *moved;
  }
  if (order.empty()) return std::nullopt;
  const std::vector<int64_t> inverse = inverse_of(order);
  std::vector<TermId> inner;
  for (const TermId part : parts) {
    inner.push_back(transpose(part, inverse));
    if (moved_as(inner.back())) return std::nullopt;
  }
  return transpose(concat(inner, order[axis]), order);
}

// The order of axes, where a term is a Transpose, or a Reshape of one that merges axes which stand together before it.
std::optional<std::vector<int64_t>> Views::moved_as(TermId x) const {
  const Term& term = terms_[x];
  if (term.is("Transpose")) return term.ints;
  if (!term.is("Reshape") || !terms_[term.arguments[0]].is("Transpose") || !is_known(term.shape)) return std::nullopt;
  const Term& turned = terms_[term.arguments[0]];
  if (!is_known(turned.shape)) return std::nullopt;
  const auto blocks = blocks_between(*turned.shape, *term.shape);
  if (!blocks || blocks->size() != term.shape->size()) return std::nullopt;
  std::vector<int64_t> first;  // axis before the Transpose, by block
  for (const Block& block : *blocks) {
    first.push_back(turned.ints[block.from.first]);
    for (size_t i = 1; i < block.from.count; ++i)
      if (turned.ints[block.from.first + i] != first.back() + static_cast<int64_t>(i)) return std::nullopt;
  }
  std::vector<int64_t> sorted = first, order;
  std::ranges::sort(sorted);
  for (const int64_t axis : first) order.push_back(std::ranges::lower_bound(sorted, axis) - sorted.begin());
  return order;
}

TermId Views::concat(std::span<const TermId> parts, int64_t axis) {
  constexpr size_t kMostParts = 1024;
  const auto at = static_cast<size_t>(axis);
  std::vector<TermId> flat;
  for (const TermId part : parts) {
    const Term& term = terms_[part];
    if ((*term.shape)[at].is_constant(0)) continue;
    if (term.is("Concat") && term.ints[0] == axis && flat.size() + term.arguments.size() <= kMostParts) {
      flat.insert(flat.end(), term.arguments.begin(), term.arguments.end());
    } else if (const auto pieces = term.is("Reshape") ? this->parts(part) : std::nullopt;
               pieces && pieces->axis == axis && flat.size() + pieces->lengths.size() <= kMostParts) {
      const std::vector<TermId> inner = terms_[term.arguments[0]].arguments;
      Shape shape = *term.shape;
      for (size_t i = 0; i < inner.size(); ++i) {
        shape[at] = pieces->lengths[i];
        flat.push_back(reshape(inner[i], shape));
      }
    } else {
      flat.push_back(part);
    }
  }
  if (flat.empty()) return parts.front();
  // Stretches of one tensor that follow each other are one stretch.
  std::vector<TermId> joined;
  const auto cut_of = [&](TermId id) -> std::optional<std::pair<TermId, Cut>> {
    const Term& term = terms_[id];
    if (const auto found = cut_from_.find(id); found != cut_from_.end() && found->second.second.axis == axis)
      return found->second.second.step == 1 ? std::optional(found->second) : std::nullopt;
    if (!term.is("Slice") || term.ints.size() != 2 || term.ints[0] != axis || term.ints[1] != 1) return std::nullopt;
    return std::pair(term.arguments[0], Cut{axis, term.dims[0], term.dims[1], 1});
  };
  for (const TermId part : flat) {
    if (!joined.empty()) {
      const auto before = cut_of(joined.back()), now = cut_of(part);
      if (before && now && before->first == now->first &&
          dim::same(before->second.begin + before->second.length, now->second.begin)) {
        const Cut both{axis, before->second.begin, before->second.length + now->second.length, 1};
        if (both.length.is_known()) {
          joined.back() = slice(now->first, std::span(&both, 1));
          continue;
        }
      }
    }
    joined.push_back(part);
  }
  if (joined.size() == 1) return joined[0];
  Shape shape = *terms_[joined[0]].shape;
  for (size_t i = 1; i < joined.size(); ++i) {
    const Shape& other = *terms_[joined[i]].shape;
    for (size_t k = 0; k < shape.size(); ++k)
      shape[k] = k == at ? shape[k] + other[k] : shape[k].is_constant() ? shape[k] : other[k];
  }
  if (const auto numbers = constants_.joined(joined, at)) return *numbers;
  if (is_known(shape)) {
    if (const auto inside = concat_inside(joined, at, shape)) return *inside;
    if (const auto before = concat_reshaped(joined, at, shape)) return *before;
  }
  Term term;
  term.op = "Concat";
  term.ints = {axis};
  term.arguments = joined;
  term.dtype = terms_[joined[0]].dtype;
  term.shape = std::move(shape);
  return terms_.add(std::move(term));
}

}  // namespace thaw::proving
