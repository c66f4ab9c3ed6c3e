// Transposes, reshapings, Slices, Concats, Splits and Pads that follow each other.
#include <algorithm>
#include <numeric>

#include "thaw/ops/rule/product_groups.h"
#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

using Axes = std::vector<int64_t>;

// Axes of the result as axes of the operand; by default they are reversed.
std::optional<Axes> permutation_of(const Site& s, const ir::Node& node) {
  const auto given = node.attribute_ints("perm");
  if (!given.empty()) return Axes(given.begin(), given.end());
  const int rank = s.fact(node.input(0)).rank();
  if (rank < 0) return std::nullopt;
  Axes transposed(static_cast<size_t>(rank));
  std::iota(transposed.rbegin(), transposed.rend(), 0);
  return transposed;
}

ir::Value* one_transpose(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Transpose");
  if (!inner) return nullptr;
  const auto first = permutation_of(s, *inner), second = permutation_of(s, s.node());
  if (!first || !second || first->size() != second->size()) return nullptr;
  Axes both;
  for (const int64_t axis : *second) both.push_back((*first)[static_cast<size_t>(axis)]);
  const bool is_undone = std::ranges::is_sorted(both);
  return is_undone ? inner->input(0) : s.at().transpose(inner->input(0), both);
}

// What a value is a reshaping of: the same elements in the same order.
const ir::Node* reshaping(const Site& s, const ir::Value* value) {
  for (const std::string_view op : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
    if (const ir::Node* node = s.made_by(value, op)) return node;
  return nullptr;
}

// A reshaping back to what an earlier one started from.
ir::Value* reshaped_back(const Site& s) {
  ir::Value* value = s.input(0);
  for (int depth = 0; depth < 8; ++depth) {
    const ir::Node* inner = reshaping(s, value);
    if (!inner) return nullptr;
    value = inner->input(0);
    if (s.fact(value).dtype == s.out().dtype && have_same_shape(s.fact(value), s.out())) return value;
  }
  return nullptr;
}

// A Reshape of a reshaping reads what that one reads. A 0 of its target copies a dim of its operand, which must be the
// same then; with allowzero it is a size of its own.
ir::Value* one_reshape(const Site& s) {
  const ir::Node* inner = reshaping(s, s.input(0));
  if (!inner || s.opset() < 5) return nullptr;
  const auto target = s.integers(1, "");
  if (!target || (s.node().attribute_int("allowzero", 0) != 0 && std::ranges::count(*target, 0) > 0)) return nullptr;
  const ops::Fact &from = s.fact(inner->input(0)), &over = s.in(0);
  if (!from.has_rank()) return nullptr;
  for (size_t i = 0; i < target->size(); ++i) {
    if ((*target)[i] != 0) continue;
    const int axis = static_cast<int>(i);
    if (axis >= from.rank() || axis >= over.rank() || !dim::same(from.dim(axis), over.dim(axis))) return nullptr;
  }
  return s.at().reshape(inner->input(0), s.input(1));
}

// The Transpose that takes `in` to `out` and moves each element as these three do at every size: a reshaping of `in` to `viewed`,
// a Transpose by `permutation`, a reshaping to `out`. nullopt where there is none, or where sizes are not known to be multiples
// of each other.
std::optional<Axes> as_one_transpose(const ops::Shape& in, const ops::Shape& viewed, const Axes& permutation,
                                     const ops::Shape& out) {
  if (in.size() != out.size() || viewed.size() != permutation.size()) return std::nullopt;
  const auto factors = ops::common_factors(in, viewed);
  if (!factors) return std::nullopt;
  std::vector<size_t> moved;  // the factors in the Transpose's order
  for (const int64_t axis : permutation) {
    if (axis < 0 || axis >= static_cast<int64_t>(viewed.size())) return std::nullopt;
    const std::vector<size_t>& of_axis = factors->of_out[static_cast<size_t>(axis)];
    moved.insert(moved.end(), of_axis.begin(), of_axis.end());
  }
  Axes order;
  size_t next = 0;
  int64_t next_one = 0;
  for (const dim::Dim size : out) {
    if (size.is_constant(1)) {  // any axis of 1
      const auto one =
          std::ranges::find_if(in.begin() + next_one, in.end(), [](dim::Dim d) { return d.is_constant(1); });
      if (one == in.end()) return std::nullopt;
      order.push_back(one - in.begin());
      next_one = order.back() + 1;
      continue;
    }
    if (next == moved.size()) return std::nullopt;
    const size_t first = moved[next], axis = factors->axes[first];
    if (!dim::same(size, in[axis])) return std::nullopt;
    // All of the axis stands here, none of it before.
    if (first > 0 && factors->axes[first - 1] == axis) return std::nullopt;
    for (size_t factor = first; factor < factors->axes.size() && factors->axes[factor] == axis; ++factor, ++next)
      if (next == moved.size() || moved[next] != factor) return std::nullopt;
    order.push_back(static_cast<int64_t>(axis));
  }
  return next == moved.size() ? std::optional(order) : std::nullopt;
}

// A reshaping, a Transpose and a reshaping that together move whole axes: one Transpose.
ir::Value* transposed_through_views(const Site& s) {
  const ir::Node* transpose = s.made_by(0, "Transpose");
  const ir::Node* view = transpose && s.is_only_reader_of(s.input(0)) ? reshaping(s, transpose->input(0)) : nullptr;
  if (!view) return nullptr;
  const ops::Fact &in = s.fact(view->input(0)), &viewed = s.fact(view->output(0));
  const auto permutation = permutation_of(s, *transpose);
  if (!permutation || !in.has_rank() || !viewed.has_rank() || !s.out().has_rank()) return nullptr;
  const auto order = as_one_transpose(*in.shape, *viewed.shape, *permutation, *s.out().shape);
  return order ? s.at().transpose(view->input(0), *order) : nullptr;
}

ir::Value* one_unsqueeze(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Unsqueeze");
  if (!inner || !s.in(0).has_rank() || !s.out().has_rank()) return nullptr;
  const auto first = s.axes(*inner, 1, s.in(0).rank()), second = s.axes(s.node(), 1, s.out().rank());
  if (!first || !second) return nullptr;
  // The axes of the first among those that the second leaves.
  Axes kept, all = *second;
  for (int64_t axis = 0; axis < s.out().rank(); ++axis)
    if (std::ranges::find(*second, axis) == second->end()) kept.push_back(axis);
  for (const int64_t axis : *first) all.push_back(kept[static_cast<size_t>(axis)]);
  std::ranges::sort(all);
  return s.at().unsqueeze(inner->input(0), all);
}

ir::Value* one_squeeze(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Squeeze");
  if (!inner || !s.fact(inner->input(0)).has_rank() || !s.in(0).has_rank()) return nullptr;
  const int rank = s.fact(inner->input(0)).rank();
  const auto first = s.axes(*inner, 1, rank), second = s.axes(s.node(), 1, s.in(0).rank());
  if (!first || !second) return nullptr;
  Axes kept, all = *first;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::ranges::find(*first, axis) == first->end()) kept.push_back(axis);
  for (const int64_t axis : *second) all.push_back(kept[static_cast<size_t>(axis)]);
  std::ranges::sort(all);
  return s.at().squeeze(inner->input(0), all);
}

// A Concat's part that is a Concat along the same axis.
ir::Value* one_concat(const Site& s) {
  const auto axis_of = [&](const ir::Node& node) -> std::optional<int64_t> {
    const int64_t axis = node.attribute_int("axis", s.opset() < 4 ? 1 : INT64_MAX);
    const int rank = s.fact(node.output(0)).rank();
    if (axis >= 0) return axis;
    return rank < 0 ? std::nullopt : std::optional(axis + rank);
  };
  const auto axis = axis_of(s.node());
  std::vector<ir::Value*> parts;
  bool is_flat = true;
  for (ir::Value* part : s.node().inputs()) {
    const ir::Node* inner = s.made_by(part, "Concat");
    if (inner && s.is_only_reader_of(part) && axis && axis_of(*inner) == axis) {
      parts.insert(parts.end(), inner->inputs().begin(), inner->inputs().end());
      is_flat = false;
    } else {
      parts.push_back(part);
    }
  }
  return is_flat ? nullptr : s.at().concat(std::move(parts), *axis);
}

// All parts of a Split, put together again in their order.
ir::Value* concatenated_again(const Site& s) {
  const auto parts = s.node().inputs();
  const ir::Node* split = parts.empty() || !parts[0] ? nullptr : s.made_by(parts[0], "Split");
  if (!split || split->outputs().size() != parts.size()) return nullptr;
  for (size_t i = 0; i < parts.size(); ++i)
    if (parts[i] != split->outputs()[i]) return nullptr;
  const int rank = s.out().rank();
  const auto from_front = [&](int64_t axis) { return axis < 0 ? axis + rank : axis; };
  if (rank < 0) return nullptr;
  return from_front(split->attribute_int("axis", 0)) == from_front(s.node().attribute_int("axis", 0)) ? split->input(0)
                                                                                                      : nullptr;
}

struct Cut {
  Axes starts, ends, axes, steps;
};

std::optional<Cut> cut_of(const Site& s, const ir::Node& node) {
  const int rank = s.fact(node.input(0)).rank();
  const auto starts = s.integers(node, 1, "starts"), ends = s.integers(node, 2, "ends");
  if (!starts || !ends || rank < 0 || starts->size() != ends->size()) return std::nullopt;
  Cut cut{*starts, *ends, {}, Axes(starts->size(), 1)};
  if (node.input(3) || node.attribute("axes")) {
    const auto axes = s.axes(node, 3, rank);
    if (!axes) return std::nullopt;
    cut.axes = *axes;
  } else {
    cut.axes.resize(starts->size());
    std::iota(cut.axes.begin(), cut.axes.end(), 0);
  }
  if (node.input(4)) {
    const auto steps = s.integers(node, 4, "");
    if (!steps) return std::nullopt;
    cut.steps = *steps;
  }
  return cut.axes.size() == starts->size() && cut.steps.size() == starts->size() ? std::optional(cut) : std::nullopt;
}

// Slices along other axes, or forward along the same from the front.
ir::Value* one_slice(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Slice");
  if (!inner || !s.is_only_reader_of(s.input(0))) return nullptr;
  auto first = cut_of(s, *inner);
  const auto second = cut_of(s, s.node());
  if (!first || !second) return nullptr;
  for (size_t i = 0; i < second->axes.size(); ++i) {
    const auto same = std::ranges::find(first->axes, second->axes[i]);
    if (same == first->axes.end()) {
      first->starts.push_back(second->starts[i]);
      first->ends.push_back(second->ends[i]);
      first->axes.push_back(second->axes[i]);
      first->steps.push_back(second->steps[i]);
      continue;
    }
    const size_t at = static_cast<size_t>(same - first->axes.begin());
    const int64_t start = first->starts[at], end = first->ends[at];
    const int64_t far = int64_t{1} << 40;  // no tensor is as long; sums stay within int64
    if (first->steps[at] != 1 || second->steps[i] != 1 || start < 0 || second->starts[i] < 0 || start > far ||
        second->starts[i] > far || end < 0 || second->ends[i] < 0)
      return nullptr;
    const int64_t last = std::min(second->ends[i], far) + start;
    first->starts[at] = start + second->starts[i];
    first->ends[at] = end >= far && second->ends[i] >= far ? INT64_MAX : std::min(end, last);
  }
  const auto list = [&](const Axes& values) { return s.at().list(values); };
  const bool is_plain = std::ranges::all_of(first->steps, [](int64_t step) { return step == 1; });
  return s.at().emit("Slice", {inner->input(0), list(first->starts), list(first->ends), list(first->axes),
                               is_plain ? nullptr : list(first->steps)});
}

// Pads with the same constant, none of which cuts.
ir::Value* one_pad(const Site& s) {
  const ir::Node* inner = s.made_by(0, "Pad");
  if (!inner || !s.is_only_reader_of(s.input(0)) || s.opset() < 11) return nullptr;
  if (inner->input(3) || s.input(3)) return nullptr;
  const auto number = [&](const ir::Node& node) {
    return node.input(2) ? s.number(node.input(2)) : std::optional(0.0);
  };
  for (const ir::Node* node : {inner, &s.node()})
    if (node->attribute_string("mode", "constant") != "constant") return nullptr;
  const auto first = s.integers(*inner, 1, "pads"), second = s.integers(1, "pads");
  if (!first || !second || first->size() != second->size() || !number(*inner) || number(*inner) != number(s.node()))
    return nullptr;
  Axes both;
  for (size_t i = 0; i < first->size(); ++i) {
    if ((*first)[i] < 0 || (*second)[i] < 0) return nullptr;
    both.push_back((*first)[i] + (*second)[i]);
  }
  ops::Attributes mode;
  if (const ir::Attribute* given = s.node().attribute("mode")) mode.push_back(*given);
  return s.at().emit("Pad", {inner->input(0), s.at().list(both), s.input(2)}, std::move(mode));
}

const Simplification kMergedLayouts[] = {
    {"merge Transposes", {"Transpose"}, one_transpose},
    {"undo a reshaping", {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, reshaped_back},
    {"merge reshapings", {"Reshape"}, one_reshape},
    {"merge reshapings and a Transpose", {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}, transposed_through_views},
    {"merge Unsqueezes", {"Unsqueeze"}, one_unsqueeze},
    {"merge Squeezes", {"Squeeze"}, one_squeeze},
    {"merge Concats", {"Concat"}, one_concat},
    {"join what was split", {"Concat"}, concatenated_again},
    {"merge Slices", {"Slice"}, one_slice},
    {"merge Pads", {"Pad"}, one_pad},
};

}  // namespace

std::span<const Simplification> merged_layouts() { return kMergedLayouts; }

}  // namespace thaw::optimizing
