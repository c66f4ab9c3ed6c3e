// Samples through what moves elements, repeats them or leaves some out.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/prove/samples_rules.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

Samples SampleRules::reshaped() const {
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || !is_size(1)) return kMixed;
  if (of_.operands[0].is_none()) return none_of_sizes();
  if (!of_.operands[0].is_rows()) return kMixed;
  const size_t axis = of_.operands[0].axis;
  const Dim behind = of_.operands[0].inner * dim::product(std::span(*from).subspan(axis + 1));
  const auto found = std::ranges::find_if(*to, [&](Dim d) { return mentions(d, of_.batch); });
  if (found == to->end()) return kMixed;
  const auto k = static_cast<size_t>(found - to->begin());
  // As many elements stand behind as before where as many stand up to here.
  if (dim::same(dim::product(std::span(*from).first(axis + 1)), dim::product(std::span(*to).first(k + 1))))
    return rows(k, of_.operands[0].inner);
  const Dim after = dim::product(std::span(*to).subspan(k + 1));
  if (behind.is_unknown() || after.is_unknown()) return kMixed;
  const auto inner = dim::same(behind, after) ? std::optional<Dim>(1) : dim::exact_div(behind, after);
  return inner ? rows(k, *inner) : kMixed;
}

Samples SampleRules::transposed() const {
  const Shape* shape = of_.shape(0);
  if (!shape || !of_.operands[0].is_rows()) return kMixed;
  const auto order = of_.node.attribute_ints("perm");
  const size_t rank = shape->size(), axis = of_.operands[0].axis;
  if (order.empty()) return rows(rank - 1 - axis, of_.operands[0].inner);
  const auto found = std::ranges::find(order, static_cast<int64_t>(axis));
  if (order.size() != rank || found == order.end()) return kMixed;
  return rows(static_cast<size_t>(found - order.begin()), of_.operands[0].inner);
}

Samples SampleRules::split() const {
  const auto axis = attribute_axis("axis", 0);
  return axis && apart_from(*axis) ? of_.operands[0] : kMixed;
}

Samples SampleRules::concat() const {
  const auto axis = attribute_axis("axis", 0);
  if (!axis) return kMixed;
  for (const Samples& operand : of_.operands)
    if (!operand.is_rows() || operand.axis == *axis || !is_alike(operand, of_.operands[0])) return kMixed;
  return of_.operands[0];
}

Samples SampleRules::slice() const {
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || of_.opset < 10) return kMixed;
  if (of_.operands[0].kind == Kind::kCount) return kMixed;
  for (const size_t i : {1, 3, 4})  // ends tell sizes alone, which are those of the result
    if (i < of_.operands.size() && !of_.operands[i].is_none()) return kMixed;
  if (!is_size(2)) return kMixed;
  if (of_.operands[0].is_none()) return none_of_sizes();
  const std::vector<Dim> begins = of_.elements(1), axes = of_.elements(3), steps = of_.elements(4);
  if (begins.empty() || (of_.has(3) && axes.size() != begins.size()) || (of_.has(4) && steps.size() != begins.size()))
    return kMixed;
  for (size_t i = 0; i < begins.size(); ++i) {
    const auto axis = of_.has(3) ? axis_of(axes[i], from->size()) : std::optional(i);
    if (!axis) return kMixed;
    if (*axis != of_.operands[0].axis) continue;
    const bool is_whole =
        begins[i].is_constant(0) && (!of_.has(4) || steps[i].is_constant(1)) && dim::same((*from)[*axis], (*to)[*axis]);
    if (!is_whole) return kMixed;
  }
  return of_.operands[0];
}

Samples SampleRules::gather() const {
  const Shape *data = of_.shape(0), *indices = of_.shape(1);
  const auto axis = attribute_axis("axis", 0);
  if (!data || !indices || !axis || of_.operands.size() != 2) return kMixed;
  const Samples &of_data = of_.operands[0], &of_indices = of_.operands[1];
  if (of_data.is_none() && of_indices.is_rows()) return rows(*axis + of_indices.axis, of_indices.inner);
  if (!of_data.is_rows() || !of_indices.is_none() || of_data.axis == *axis) return kMixed;
  return rows(of_data.axis < *axis ? of_data.axis : of_data.axis - 1 + indices->size(), of_data.inner);
}

Samples SampleRules::along_same_places() const {
  const auto axis = attribute_axis("axis", 0);
  if (!axis || !of_.shape(0) || !of_.shape(1)) return kMixed;
  for (size_t i = 0; i < of_.operands.size(); ++i) {
    const Samples& operand = of_.operands[i];
    if (!operand.is_rows() || operand.axis == *axis || !is_alike(operand, of_.operands[0])) return kMixed;
    if (!dim::same((*of_.shape(0))[operand.axis], (*of_.shape(1))[operand.axis])) return kMixed;
  }
  return of_.operands[0];
}

Samples SampleRules::gather_nd() const {
  const Shape *data = of_.shape(0), *indices = of_.shape(1);
  const int64_t shared = of_.node.attribute_int("batch_dims", 0);
  if (!data || !indices || of_.operands.size() != 2 || indices->empty() || shared < 0) return kMixed;
  const Samples &of_data = of_.operands[0], &of_indices = of_.operands[1];
  if (of_indices.is_rows() && of_indices.axis + 1 >= indices->size()) return kMixed;  // parts of one index
  if (of_data.is_none() && of_indices.is_rows()) return of_indices;
  const bool is_shared = of_data.is_rows() && of_indices.is_rows() && is_alike(of_data, of_indices) &&
                         static_cast<int64_t>(of_data.axis) < shared;
  return is_shared ? of_data : kMixed;
}

Samples SampleRules::expanded() const {
  if (!is_size(1)) return kMixed;
  if (of_.operands[0].is_rows()) return each_of_first();
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || !of_.operands[0].is_none()) return kMixed;
  const auto axis = only_axis(*to);
  if (!axis) return none_of_sizes();
  const size_t before = to->size() - from->size();
  if (*axis >= before && !(*from)[*axis - before].is_constant(1)) return kMixed;
  const auto inner = dim::exact_div((*to)[*axis], of_.batch);
  return inner ? rows(*axis, *inner) : kMixed;
}

Samples SampleRules::filled() const {
  const Shape* to = of_.result_shape(0);
  if (!is_size(0)) return kMixed;
  const auto axis = to ? only_axis(*to) : std::nullopt;
  const auto inner = axis ? dim::exact_div((*to)[*axis], of_.batch) : std::nullopt;
  return inner ? rows(*axis, *inner) : none_of_sizes();
}

Samples SampleRules::tiled() const {
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || from->size() != to->size() || !is_size(1)) return kMixed;
  if (of_.operands[0].is_rows()) {
    const size_t axis = of_.operands[0].axis;
    const std::vector<Dim> repeats = of_.elements(1);
    return repeats.size() == from->size() && repeats[axis].is_constant(1) ? of_.operands[0] : kMixed;
  }
  if (!of_.operands[0].is_none()) return kMixed;
  const auto axis = only_axis(*to);
  if (!axis) return none_of_sizes();
  const auto inner = dim::exact_div((*to)[*axis], of_.batch);
  return inner && dim::exact_div(*inner, (*from)[*axis]) ? rows(*axis, *inner) : kMixed;
}

Samples SampleRules::padded() const {
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || !of_.operands[0].is_rows() || !is_size(1) || !no_samples_from(2) || of_.opset < 11) return kMixed;
  const size_t axis = of_.operands[0].axis;
  const std::vector<Dim> pads = of_.elements(1), axes = of_.elements(3);
  if (of_.has(3) != !axes.empty() || pads.size() != 2 * (of_.has(3) ? axes.size() : from->size())) return kMixed;
  for (size_t i = 0; i < pads.size() / 2; ++i) {
    const auto at = of_.has(3) ? axis_of(axes[i], from->size()) : std::optional(i);
    if (!at || (*at == axis && (!pads[i].is_constant(0) || !pads[i + pads.size() / 2].is_constant(0)))) return kMixed;
    if (mentions(pads[i], of_.batch)) return kMixed;
  }
  return of_.operands[0];
}

Samples SampleRules::resized() const {
  static constexpr std::array<std::string_view, 5> kExact{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                          "asymmetric", "align_corners"};
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || !of_.operands[0].is_rows() || of_.opset < 11) return kMixed;
  const size_t axis = of_.operands[0].axis;
  const auto mode = of_.node.attribute_string("coordinate_transformation_mode", "half_pixel");
  if (std::ranges::find(kExact, mode) == kExact.end() || of_.node.attribute("axes") ||
      !dim::same((*from)[axis], (*to)[axis]) ||
      of_.node.attribute_string("keep_aspect_ratio_policy", "stretch") != "stretch")
    return kMixed;
  if (!is_none(1) || !is_none(2)) return kMixed;
  if (of_.has(3)) return is_size(3) ? of_.operands[0] : kMixed;
  const ir::Tensor* scales = of_.has(2) ? of_.node.inputs()[2]->fixed_constant() : nullptr;
  if (!scales || scales->num_elements() != static_cast<int64_t>(from->size())) return kMixed;
  return scales->to_double()[axis] == 1 ? of_.operands[0] : kMixed;
}

Samples SampleRules::each_of_first() const {
  const Shape *from = of_.shape(0), *to = of_.result_shape(0);
  if (!from || !to || from->size() > to->size()) return kMixed;
  const Samples made = rows(of_.operands[0].axis + to->size() - from->size(), of_.operands[0].inner);
  return dim::same((*from)[of_.operands[0].axis], (*to)[made.axis]) ? made : kMixed;
}

std::optional<size_t> SampleRules::only_axis(const Shape& shape) const {
  std::optional<size_t> found;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!mentions(shape[k], of_.batch)) continue;
    if (found) return std::nullopt;
    found = k;
  }
  return found;
}

Samples SampleRules::none_of_sizes() const {
  const Shape* to = of_.result_shape(0);
  if (!to || std::ranges::any_of(*to, [&](Dim d) { return mentions(d, of_.batch) || dim::is_data_dependent(d); }))
    return kMixed;
  return {};
}

}  // namespace thaw::proving
