#include "thaw/lift/around/slices.h"

#include <algorithm>
#include <set>

#include "thaw/lift/align/slice.h"
#include "thaw/lift/around/beside_cut.h"
#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {
namespace {

// The bound in each trace; nullopt where it is a list of several.
std::optional<std::vector<int64_t>> numbers_of(const Difference& bound) {
  std::vector<int64_t> numbers;
  for (const ir::Tensor* tensor : bound.tensors) {
    if (tensor->num_elements() != 1) return std::nullopt;
    numbers.push_back(tensor->to_int64().front());
  }
  return numbers;
}

ops::Shape cut_back(const TracedShapes& shapes, const Difference& bound) {
  const auto slice = written_slice(*bound.node);
  const BesideCut beside = slice && slice->begin == 0 ? beside_cut(*bound.node) : BesideCut();
  const auto place = shapes.place_of(beside.node);
  if (!place) return {};
  const ops::Shape* shape = shapes.shape_of(beside.node->input(beside.other));
  const auto axes = shapes.operand(*place, beside.other);
  if (!shape || !axes || axes->size() != shape->size()) return {};
  const size_t axis = slice->axis_of(axes->size());
  if (axis >= axes->size() || all_equal((*axes)[axis]) || joins_along(*beside.node, axis, axes->size())) return {};
  return numbers_of(bound) == (*axes)[axis] ? ops::Shape{(*shape)[axis]} : ops::Shape();
}

// Whether a node joins what two give, along an axis.
bool are_joined(const ir::Node& a, const ir::Node& b, size_t axis, size_t rank) {
  const auto reads_b = [&](const ir::Use& use) {
    return joins_along(*use.node, axis, rank) &&
           std::ranges::find(use.node->inputs(), b.output(0)) != use.node->inputs().end();
  };
  return std::ranges::any_of(a.output(0)->uses(), reads_b);
}

ops::Shape rolled_by(const Difference& bound, std::span<const Variable> axes) {
  const auto slice = written_slice(*bound.node);
  const size_t axis = slice ? slice->axis_of(axes.size()) : axes.size();
  if (axis >= axes.size() || !axes[axis].varies() || !axes[axis].symbol.is_symbolic()) return {};
  const auto numbers = numbers_of(bound);
  std::set<int64_t> behind;  // how far before the end of the axis
  for (size_t k = 0; numbers && k < numbers->size(); ++k) behind.insert(axes[axis].at[k] - (*numbers)[k]);
  if (behind.size() != 1 || *behind.begin() < 0) return {};
  const auto is_other_part = [&](const ir::Use& use) {
    const auto other = use.index == 0 ? written_slice(*use.node) : std::nullopt;
    if (!other || use.node == bound.node || other->axis_of(axes.size()) != axis) return false;
    const auto meet = [](const Slice& first, const Slice& next) { return first.begin == 0 && first.end == next.begin; };
    return (meet(*slice, *other) || meet(*other, *slice)) && are_joined(*bound.node, *use.node, axis, axes.size());
  };
  const bool is_rolled = std::ranges::any_of(bound.node->input(0)->uses(), is_other_part);
  return is_rolled ? ops::Shape{axes[axis].symbol - dim::Dim(*behind.begin())} : ops::Shape();
}

struct Middle {
  dim::Dim length;
  std::vector<dim::Dim>
      begins;  // half of what is cut away, as the traces have it; two where none tells how it is rounded
  std::vector<int64_t> at = {};  // where it begins in each trace
};

// A Slice, or one right before or behind it that cuts along another axis: what begins later along one axis is cut from the middle along others,
// too, which may have nothing to leave out before it in any trace.
bool cuts_from_middle(const TracedShapes& shapes, const ir::Node& slice) {
  const auto begins_later = [&](const ir::Node* node) {
    const auto place = shapes.place_of(node);
    return place && std::ranges::any_of(shapes.lifting().alignment.nodes, [&](const auto& of_trace) {
             const auto here = written_slice(*of_trace[*place]);
             return here && here->begin > 0;
           });
  };
  const std::span<const ir::Use> uses = slice.output(0)->uses();
  return begins_later(&slice) || begins_later(slice.input(0)->producer()) ||
         (uses.size() == 1 && uses.front().index == 0 && begins_later(uses.front().node));
}

std::optional<Middle> middle_of(const TracedShapes& shapes, size_t place) {
  const ir::Node& node = shapes.node(place);
  const auto slice = written_slice(shapes.node(place));
  const BesideCut beside = slice && cuts_from_middle(shapes, node) ? beside_cut(node) : BesideCut();
  const auto reader = shapes.place_of(beside.node);
  if (!reader) return std::nullopt;
  const auto data = shapes.axes_of(place, 0);
  const auto kept = shapes.operand(*reader, beside.other);
  const ops::Shape* of_kept = shapes.shape_of(beside.node->input(beside.other));
  const size_t axis = data ? slice->axis_of(data->size()) : 0;
  if (!data || axis >= data->size() || (*data)[axis].symbol.is_unknown() || !kept || kept->size() != data->size() ||
      !of_kept)
    return std::nullopt;
  Middle middle{.length = (*of_kept)[axis], .begins = {}};
  bool is_down = true, is_up = true;
  for (size_t k = 0; k < shapes.lifting().traces.size(); ++k) {
    const auto here = written_slice(shapes.node(place, k));
    const int64_t length = (*kept)[axis][k], away = (*data)[axis].at[k] - length;
    if (!here || here->length() != length || away < 0) return std::nullopt;
    is_down &= here->begin == away / 2;
    is_up &= here->begin == away - away / 2;
    middle.at.push_back(here->begin);
  }
  const dim::Dim away = (*data)[axis].symbol - middle.length;
  if (is_down) middle.begins.push_back(dim::floor_div(away, 2));
  if (is_up && !(is_down && dim::same(middle.begins.front(), dim::ceil_div(away, 2))))
    middle.begins.push_back(dim::ceil_div(away, 2));
  return middle;
}

ops::Shape cut_from_middle(const TracedShapes& shapes, const Difference& bound, size_t place) {
  const auto middle = middle_of(shapes, place);
  if (!middle) return {};
  const bool is_steady = all_equal(middle->at);  // steady_middles
  const auto numbers = numbers_of(bound);
  if (!numbers || (!is_steady && middle->begins.size() != 1)) return {};
  const dim::Dim begin = is_steady ? dim::Dim(middle->at.front()) : middle->begins.front();
  return {numbers->front() == middle->at.front() ? begin : begin + middle->length};
}

}  // namespace

ops::Shape bound_told(const TracedShapes& shapes, const Difference& bound, std::span<const Variable> axes) {
  const auto place = shapes.place_of(bound.node);
  if (!place) return {};
  ops::Shape told = cut_back(shapes, bound);
  if (told.empty()) told = rolled_by(bound, axes);
  if (told.empty()) told = cut_from_middle(shapes, bound, *place);
  return told;
}

std::vector<Undecided> steady_middles(const TracedShapes& shapes) {
  std::vector<Undecided> out;
  for (size_t place = 0; place < shapes.num_places(); ++place) {
    const auto middle = middle_of(shapes, place);
    if (!middle || !all_equal(middle->at)) continue;
    for (const dim::Dim begin : middle->begins)
      if (begin.is_symbolic()) out.push_back({dim::Dim(middle->at.front()), begin, {}});
  }
  return out;
}

}  // namespace thaw::lifting
