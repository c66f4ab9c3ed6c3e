// Cuts of what is computed: before what is added and multiplied, and before functions of constants.
#include <algorithm>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using ops::Shape;

TermId Algebra::slice(TermId x, std::span<const Cut> cuts) {
  if (cuts.empty()) return x;
  for (; cuts.size() > 1; cuts = cuts.subspan(1)) x = slice(x, cuts.first(1));  // axis by axis
  const TermId made = slice_inside(x, cuts[0]);
  const bool is_part = terms[x].is("Concat");  // which is put together with others by that alone
  if (made != x && !terms[made].is("Slice") && !is_part) views.remember_cut(made, x, cuts[0]);
  return made;
}

TermId Algebra::slice_inside(TermId x, const Cut& cut) {
  const Term of = terms[x];
  const bool is_all =
      cut.step == 1 && cut.begin.is_constant(0) && dim::same(cut.length, (*of.shape)[static_cast<size_t>(cut.axis)]);
  if (is_all) return x;
  const auto axis = of.is("Transpose") || of.is("Reshape") ? views.axis_before(x, cut.axis) : std::nullopt;
  if (!axis || !is_known(of.shape)) {
    const TermId same = views.unexpanded(views_inside(x));  // without axes of size 1 in front
    const auto& bare = terms[same].shape;
    const auto missing = static_cast<int64_t>(of.shape->size() - (is_known(bare) ? bare->size() : 0));
    if (!is_known(bare) || missing > cut.axis || !is_same(*bare, Shape(of.shape->begin() + missing, of.shape->end())))
      return part(x, cut);
    Shape shape = *of.shape;
    shape[static_cast<size_t>(cut.axis)] = cut.length;
    return views.conform(part(same, {cut.axis - missing, cut.begin, cut.length, cut.step}), shape);
  }
  const TermId inner = slice_inside(of.arguments[0], {*axis, cut.begin, cut.length, cut.step});
  if (of.is("Transpose")) return views.transpose(inner, of.ints);
  Shape shape = *of.shape;
  shape[static_cast<size_t>(cut.axis)] = cut.length;
  return views.reshape(inner, shape);
}

// nullopt where anything but a constant varies along the axis.
std::optional<TermId> Algebra::cut_constants(TermId x, const Cut& cut, int depth) {
  constexpr int kDeepest = 8;
  const Term of = terms[x];
  if (of.kind == Term::Kind::kConstant) return views.slice(x, std::span(&cut, 1));
  if (depth == kDeepest || !is_known(of.shape) || of.arguments.empty()) return std::nullopt;
  Shape shape = *of.shape;
  shape[static_cast<size_t>(cut.axis)] = cut.length;
  const bool is_view = of.is("Reshape") || of.is("Transpose") || of.is("Expand");
  if (of.is("Reshape") || of.is("Transpose")) {
    const auto axis = views.axis_before(x, cut.axis);
    if (!axis) return std::nullopt;
    const auto inner = cut_constants(of.arguments[0], {*axis, cut.begin, cut.length, cut.step}, depth + 1);
    if (!inner) return std::nullopt;
    return of.is("Reshape") ? views.reshape(*inner, shape) : views.transpose(*inner, of.ints);
  }
  const bool is_sum = of.kind == Term::Kind::kSum, is_product = of.kind == Term::Kind::kProduct;
  const bool is_each = of.kind == Term::Kind::kOperator && of.arguments.size() == 1 && of.op.starts_with("node ") &&
                       is_function_of_one(std::string_view(of.op).substr(5));
  if (!is_view && !is_sum && !is_product && !is_each) return std::nullopt;
  std::vector<TermId> arguments;
  for (const TermId one : of.arguments) {
    if (!is_known(terms[one].shape)) return std::nullopt;
    const Shape& own = *terms[one].shape;
    const int64_t axis = cut.axis - static_cast<int64_t>(shape.size() - own.size());
    if (axis < 0 || is_one(own[static_cast<size_t>(axis)])) {
      arguments.push_back(one);
      continue;
    }
    const auto inner = cut_constants(one, {axis, cut.begin, cut.length, cut.step}, depth + 1);
    if (!inner) return std::nullopt;
    arguments.push_back(*inner);
  }
  if (is_view) return views.expand(arguments[0], shape);
  if (is_each) return views.conform(of_each(of.op.substr(5), arguments[0]), shape);
  return views.conform(combined(of, arguments), shape);
}

// A cut of a sum or a product is that of what is added or multiplied.
TermId Algebra::part(TermId x, const Cut& cut, int depth) {
  if (const auto made = cut_constants(x, cut)) return *made;
  constexpr int kDeepest = 4;
  const Term of = terms[x];
  Shape shape = *of.shape;
  const bool is_sum = of.kind == Term::Kind::kSum;
  const bool may_go_inside = (is_sum || of.kind == Term::Kind::kProduct) && depth < kDeepest &&
                             std::ranges::all_of(of.arguments, [&](TermId id) { return is_known(terms[id].shape); });
  if (!may_go_inside) return views.slice(x, std::span(&cut, 1));
  std::vector<TermId> arguments = of.arguments;
  for (TermId& one : arguments) {
    const Shape& own = *terms[one].shape;
    Cut inner = cut;
    inner.axis = cut.axis - static_cast<int64_t>(shape.size() - own.size());
    if (inner.axis >= 0 && !is_one(own[static_cast<size_t>(inner.axis)])) one = part(one, inner, depth + 1);
  }
  shape[static_cast<size_t>(cut.axis)] = cut.length;
  const auto write = [&](const std::vector<TermId>& o) { return combined(of, o); };
  return views.conform(elementwise(arguments, write).value_or(combined(of, arguments)), shape);
}

}  // namespace thaw::proving
