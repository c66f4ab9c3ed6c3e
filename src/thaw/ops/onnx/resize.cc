// Resize and Upsample: sizes as they are asked for, or floor(input * scale).
#include <algorithm>
#include <numeric>
#include <string>

#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/scale.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// Which operands say how to resize; -1: none.
struct ResizeOperands {
  int roi = -1, scales = 1, sizes = -1;
};
ResizeOperands resize_operands(const NodeView& view) {
  return view.opset() < 11 ? ResizeOperands() : ResizeOperands{.roi = 1, .scales = 2, .sizes = 3};
}

// The input is there and not an empty tensor (how opset 11 leaves out scales or sizes). Unknown counts as there.
bool is_given(const NodeView& view, int input) {
  if (input < 0 || !view.has_input(input)) return false;
  const Fact& fact = view.input(input);
  return !(fact.rank() == 1 && fact.dim(0).is_constant(0));
}

// tf_crop_and_resize scales the part of the input that roi cuts out.
bool crops(const NodeView& view) {
  return view.attr_string("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
}

// Where roi begins and ends on the k-th of `count` axes, where it is known.
std::optional<std::pair<double, double>> region_of(NodeView& view, size_t k, size_t count) {
  const Elements* roi = view.has_input(1) ? view.elements(1) : nullptr;
  if (!roi || roi->size() != 2 * count) return std::nullopt;
  const auto start = (*roi)[k].as_double(), end = (*roi)[count + k].as_double();
  return start && end ? std::optional(std::pair(*start, *end)) : std::nullopt;
}

std::string_view policy_of(const NodeView& view) { return view.attr_string("keep_aspect_ratio_policy", "stretch"); }

// The list of an input that must have one element for each of `count` axes; nullopt where it is not followed.
std::optional<Elements> read_list(Context& ctx, int input, size_t count, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (fact.rank() == 1) ctx.require_equal(static_cast<int64_t>(count), fact.dim(0), what, {}, {input, 0});
  const Elements* list = ctx.elements(input);
  if (!list || list->size() != count) return std::nullopt;
  return *list;
}

// What is scaled is as long as the axis.
bool keeps_whole_axis(Context& ctx, size_t k, size_t count) {
  if (!crops(ctx)) return true;
  const auto region = region_of(ctx, k, count);
  return region && region->second - region->first == 1;
}

Shape sizes_by_policy(const Shape& in, const std::vector<int>& axes, const std::vector<Dim>& sizes,
                      std::string_view policy) {
  Shape out = in;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (policy == "stretch") {
      out[axes[i]] = sizes[i];
      continue;
    }
    // Rounding is monotonic: the smallest (largest) scale's size is the smallest (largest) of the sizes by each scale.
    Dim size = sizes[i];
    for (size_t j = 0; j < axes.size(); ++j) {
      if (j == i) continue;
      Dim other = rounded_share(in[axes[i]], sizes[j], in[axes[j]]);
      size = policy == "not_larger" ? dim::min(size, other) : dim::max(size, other);
    }
    out[axes[i]] = size;
  }
  return out;
}

void resize_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!x.has_rank()) return;
  std::vector<int> axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = ctx.attr_ints("axes"); given && !given->empty()) {
    auto normal = normalize_axes(ctx, *given, x.rank());
    if (!normal) return;
    axes = std::move(*normal);
  }
  Shape out = *x.shape;
  for (int axis : axes) out[axis] = Dim();
  const ResizeOperands at = resize_operands(ctx);
  if (ctx.attr_string("coordinate_transformation_mode", "") == "tf_crop_and_resize")
    require_axis(ctx, 1, 1, 0, 2 * static_cast<int64_t>(axes.size()), "the ends of Resize's region");
  if (is_given(ctx, at.sizes)) {
    std::string_view policy = policy_of(ctx);
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
      return ctx.invalid("keep_aspect_ratio_policy '" + std::string(policy) +
                         "' is not stretch, not_larger or not_smaller");
    if (auto list = read_list(ctx, at.sizes, axes.size(), "values of Resize's sizes")) {
      std::vector<Dim> sizes;
      for (const Element& e : *list) sizes.push_back(e.as_dim());
      out = sizes_by_policy(*x.shape, axes, sizes, policy);
    }
  } else if (auto scales = read_list(ctx, at.scales, axes.size(), "values of Resize's scales")) {
    for (size_t k = 0; k < axes.size(); ++k)
      if (keeps_whole_axis(ctx, k, axes.size())) out[axes[k]] = scaled_size(x.dim(axes[k]), (*scales)[k]);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void needs_of_resize(Context& ctx) {
  const ResizeOperands at = resize_operands(ctx);
  if (is_given(ctx, at.sizes)) return need_at_least(ctx, at.sizes, 1, "a size of a Resize");
  need_known(ctx, at.scales, "the scales of a Resize");
}

// Scales are attributes in opsets 1 (height, width) and 7 (all axes), an input since.
const std::vector<float>* scales_attribute(const NodeView& view) {
  const ir::Attribute* attribute = view.opset() >= 7 && view.opset() < 9 ? view.attribute("scales") : nullptr;
  return attribute ? attribute->as<std::vector<float>>() : nullptr;
}

void upsample_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, x.has_rank() ? std::optional(unknown_shape(x.rank())) : std::nullopt);
  if (!x.has_rank()) return;
  std::vector<Element> scales(x.rank());
  if (ctx.opset() < 7) {
    if (x.rank() != 4) return ctx.invalid("Upsample needs (N, C, H, W), not rank " + std::to_string(x.rank()));
    scales = {Element::integer(1), Element::integer(1), Element::real(ctx.attr_float("height_scale", 1)),
              Element::real(ctx.attr_float("width_scale", 1))};
  } else if (ctx.opset() < 9) {
    const auto* list = scales_attribute(ctx);
    if (!list || list->size() != scales.size()) return ctx.invalid("Upsample's scales need one value for each axis");
    std::transform(list->begin(), list->end(), scales.begin(), [](float s) { return Element::real(s); });
  } else if (auto list = read_list(ctx, 1, scales.size(), "values of Upsample's scales")) {
    scales = std::move(*list);
  }
  Shape out(x.rank());
  for (int k = 0; k < x.rank(); ++k) out[k] = scaled_size(x.dim(k), scales[k]);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// The axes that are named, counted from the front: all where none are.
std::vector<int64_t> resized_axes(const NodeView& view, int rank) {
  std::vector<int64_t> axes = view.attr_ints("axes").value_or(std::vector<int64_t>());
  for (int64_t& axis : axes) axis = BatchContext::positive(axis, rank);
  if (!axes.empty()) return axes;
  axes.resize(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// Axis k is kept where it is not among the axes, or stays(where among them).
template <typename Stays>
AxesMap resize_map(int rank, const std::vector<int64_t>& axes, Stays stays) {
  return AxesMap::in_place(rank, [&](int k) {
    const auto at = std::ranges::find(axes, k);
    return at != axes.end() && !stays(static_cast<size_t>(at - axes.begin()));
  });
}

bool is_one(const Elements* scales, size_t i) {
  return scales && i < scales->size() && (*scales)[i].as_double() == 1.0;
}

// By a scale of 1, or to the size that it has, each position stays where it is. A size that a common scale rounds to
// says nothing.
std::optional<AxesMap> resize_axes(NodeView& view) {
  const Fact &x = view.input(0), &y = view.output(0);
  if (!x.has_rank()) return std::nullopt;
  const ResizeOperands at = resize_operands(view);
  const auto axes = resized_axes(view, x.rank());
  const bool by_sizes = is_given(view, at.sizes), same_rank = x.rank() == y.rank();
  const Elements* scales = by_sizes ? nullptr : view.elements(at.scales);
  return resize_map(x.rank(), axes, [&](size_t i) {
    if (crops(view) && region_of(view, i, axes.size()) != std::pair(0.0, 1.0)) return false;
    if (!by_sizes) return is_one(scales, i);
    const auto axis = static_cast<int>(axes[i]);
    return same_rank && policy_of(view) == "stretch" && dim::same(x.dim(axis), y.dim(axis));
  });
}

std::optional<AxesMap> upsample_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto* list = scales_attribute(view);
  const Elements* scales = view.elements(1);
  return resize_map(rank, resized_axes(view, rank), [&](size_t i) {
    if (view.opset() < 7) return i < 2;  // height and width
    return list ? i < list->size() && (*list)[i] == 1.0F : is_one(scales, i);
  });
}

// Samples along the first axis, which is not resized: kernels see the axes that they know.
void batch_along_first_axis(BatchContext& n, int sizes) {
  const bool merges = n.can_merge(0);
  ir::Value* x = merges ? n.merged(0) : n.leading(0);
  ir::Value* data = merges ? x : n.flattened(x);
  if (sizes >= 0) {
    ir::Value* first = merges ? n.batch_size() : n.slice(n.shape(data), 0, 1);
    n.set_operand(sizes, n.concat({first, n.slice(n.original(sizes), 1)}, 0));
    n.note_change();
  }
  ir::Value* both = merges ? nullptr : n.slice(n.shape(x), 0, 2);
  n.set_operand(0, data);
  if (merges) return n.keep(Form::kMerged);
  n.become(0, n.after().unflattened(n.node().output(0), both), Form::kLeading);
}

// With an axis more, that stays.
void batch_with_new_axis(BatchContext& n, const ResizeOperands& at, int sizes) {
  if (scales_attribute(n)) BatchContext::refuse("its scales are attributes, as before opset 9");
  if (n.attr_string("mode", "nearest") == "cubic")
    BatchContext::refuse("its scales are not known, and cubic kernels take no further axis");
  const int64_t rank = n.rank(0);
  n.note_change();
  n.set_operand(0, n.leading(0));
  n.keep(Form::kLeading);
  // A common scale is that of the named axes alone.
  if (n.has_attribute("axes") || policy_of(n) != "stretch")
    return n.set_attribute({"axes", BatchContext::shifted(resized_axes(n, static_cast<int>(rank)))});
  if (at.roi >= 0 && n.original(at.roi) && crops(n)) {
    // The region holds where each axis begins, then where each ends.
    const ir::DataType type = n.input(at.roi).dtype;
    const auto whole = [&](double value) { return n.unsqueeze(n.scalar(value, type), {0}); };
    ir::Value* roi = n.original(at.roi);
    n.set_operand(at.roi, n.concat({whole(0), n.slice(roi, 0, rank), whole(1), n.slice(roi, rank)}, 0));
  }
  if (sizes >= 0) return n.set_operand(sizes, n.concat({n.batch_size(), n.original(sizes)}, 0));
  ir::Value* one = n.unsqueeze(n.scalar(1, ir::DataType::kFloat), {0});
  n.set_operand(at.scales, n.concat({one, n.original(at.scales)}, 0));
}

void batch_resized(BatchContext& n, const ResizeOperands& at) {
  for (int i = 1; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) BatchContext::refuse("its size differs from sample to sample");
  const int rank = n.rank(0);
  const auto map = axes_of(n);
  const AxisLink* first = map ? map->of_input(0, 0) : nullptr;
  const bool names_axes = n.has_attribute("axes");
  const int sizes = is_given(n, at.sizes) ? at.sizes : -1;
  // A size among those of named axes would have to become that of the batch.
  const bool names_first = names_axes && sizes >= 0 && std::ranges::count(resized_axes(n, rank), 0) > 0;
  if (first && first->kind == AxisKind::kPreserved && !names_first && (rank > 1 || n.can_merge(0)))
    return batch_along_first_axis(n, names_axes ? -1 : sizes);
  batch_with_new_axis(n, at, sizes);
}

void batch_resize(BatchContext& n) { batch_resized(n, resize_operands(n)); }
void batch_upsample(BatchContext& n) { batch_resized(n, {}); }

constexpr int kRankOfImages = 4;

// The size times or divided by what makes one number of the other; nullopt where neither is a multiple.
std::optional<Dim> by_factor(Dim size, int64_t before, int64_t after) {
  if (after % before == 0) return size * Dim(after / before);
  if (before % after == 0) return dim::floor_div(size, before / after);
  return std::nullopt;
}

// Whether each axis that the inputs size is resized by a factor. Where one is not, the sizes were asked for as they are:
// a 2 beside it that is half of 4 says nothing of other sizes.
bool are_factors(const FrozenContext& ctx, const Shape& data, const std::vector<Dim>& sizes) {
  for (size_t k = 0; k < sizes.size(); ++k) {
    const auto target = sizes[k].constant();
    const auto assumed = dim::evaluate(data[k], ctx.assumed_sizes());
    if (data[k].is_symbolic() && target > 0 && assumed > 0 && !by_factor(data[k], *assumed, *target)) return false;
  }
  return true;
}

// Resize to constant sizes of axes that the inputs size.
void frozen_resize(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  auto sizes = ctx.followed(3);
  std::optional<Shape> out = ctx.output(0).shape;
  if (!data.shape || !sizes || !out || sizes->size() != data.shape->size() || ctx.has_attribute("axes")) return;
  // Of images, what is resized is never how many there are.
  if (data.rank() >= kRankOfImages && data.dim(0).is_symbolic() && sizes->front().is_constant())
    ctx.suggest(data.dim(0), sizes->front(), "images before and after a Resize");
  const bool is_to_factors = are_factors(ctx, *data.shape, *sizes);
  for (size_t k = 0; k < sizes->size(); ++k) {
    Dim size = (*data.shape)[k];
    auto target = (*sizes)[k].constant();
    auto assumed = dim::evaluate(size, ctx.assumed_sizes());
    if (!size.is_symbolic() || !target || !assumed || *assumed <= 0 || *target <= 0) continue;
    if (!is_to_factors && *target != *assumed) continue;
    const std::optional<Dim> e = by_factor(size, *assumed, *target);
    if (!e) continue;
    Meeting m;
    m.input = 3;
    m.element = static_cast<int>(k);
    m.value = *target;
    m.expression = *e;
    m.is_shape = m.silent = true;
    ctx.meet(m);
    (*out)[k] = *e;
  }
  ctx.set_shape(0, std::move(*out));
}

std::optional<std::vector<Dim>> resize_sizes(ThawedView& view, int operand) {
  const Fact& out = view.output(0);
  return operand == 3 && out.shape && !view.has_attribute("axes") ? out.shape : std::nullopt;
}

// Upsample, and Resize as it was in opset 10: positions are scaled from the corner, and the nearest is the one before.
void newer_resize(AdapterContext& n) {
  if (!n.crosses(11)) return;
  const Emit& at = n.at();
  ir::Value* scales = n.changing().input(1);
  std::vector<double> factors;
  if (const ir::Attribute* given = n.attribute("scales"); given && given->as<std::vector<float>>()) {
    const auto& list = *given->as<std::vector<float>>();
    factors.assign(list.begin(), list.end());
    scales = at.floats({static_cast<int64_t>(list.size())}, list);
  } else if (n.constant(1)) {
    factors = n.constant(1)->to_double();
  }
  const std::string mode(n.attr_string("mode", "nearest"));
  const bool grows = !factors.empty() && std::ranges::all_of(factors, [](double factor) { return factor >= 1; });
  if (!scales || (mode == "nearest" && !grows))
    throw NoEqual{"which pixel is the nearest depends on scales that are not known"};
  Attributes attributes = {{"mode", mode}, {"coordinate_transformation_mode", std::string("asymmetric")}};
  if (mode == "nearest") attributes.push_back({"nearest_mode", std::string("floor")});
  n.become(0, at.emit("Resize", {n.changing().input(0), nullptr, scales}, std::move(attributes)));
}

}  // namespace

void add_resize_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Resize",
         .shape = resize_rule,
         .needs = needs_of_resize,
         .operands = {kData, kRegion, kScales, kShape},
         .attributes = {{"axes", kAxes}},
         .axes = axes_by(resize_axes),
         .batch = batch_with(batch_resize),
         .frozen = frozen_resize,
         .sizes = resize_sizes,
         .newer = newer_resize,
         .magnitude = magnitude_passed});
  r.add({.name = "Upsample",
         .shape = upsample_rule,
         .needs = needs_known<1>,
         .operands = {kData, kScales},
         .attributes = {{"scales", kScales, AttributeRole::kRequired, 7, 8}},
         .axes = axes_by(upsample_axes),
         .batch = batch_with(batch_upsample),
         .newer = newer_resize,
         .magnitude = magnitude_passed});
}

}  // namespace thaw::ops
