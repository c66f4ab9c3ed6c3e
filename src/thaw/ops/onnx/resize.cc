// Resize and Upsample: sizes as they are asked for, or floor(input * scale).
#include <algorithm>
#include <numeric>
#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/scale.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// The input is there and not an empty tensor (how opset 11 leaves out scales or sizes). Unknown counts as there.
bool is_given(Context& ctx, int input) {
  if (!ctx.has_input(input)) return false;
  const Fact& fact = ctx.input(input);
  return !(fact.rank() == 1 && fact.dim(0).is_constant(0));
}

// The list of an input that must have one element for each of `count` axes; nullopt where it is not followed.
std::optional<Elements> read_list(Context& ctx, int input, size_t count, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (fact.rank() == 1) ctx.require_equal(static_cast<int64_t>(count), fact.dim(0), what, {}, {input, 0});
  const Elements* list = ctx.elements(input);
  if (!list || list->size() != count) return std::nullopt;
  return *list;
}

// tf_crop_and_resize scales the part of the input that roi cuts out; 1 where that is all of it, unknown else.
bool keeps_whole_axis(Context& ctx, size_t k, size_t count) {
  if (ctx.attr_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize") return true;
  const Elements* roi = ctx.has_input(1) ? ctx.elements(1) : nullptr;
  if (!roi || roi->size() != 2 * count) return false;
  auto start = (*roi)[k].as_double(), end = (*roi)[count + k].as_double();
  return start && end && *end - *start == 1;
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
  int scales_input = ctx.opset() >= 11 ? 2 : 1;
  bool by_sizes = ctx.opset() >= 11 && is_given(ctx, 3);
  if (by_sizes) {
    std::string_view policy = ctx.attr_string("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
      return ctx.invalid("keep_aspect_ratio_policy '" + std::string(policy) +
                         "' is not stretch, not_larger or not_smaller");
    if (auto list = read_list(ctx, 3, axes.size(), "values of Resize's sizes")) {
      std::vector<Dim> sizes;
      for (const Element& e : *list) sizes.push_back(e.as_dim());
      out = sizes_by_policy(*x.shape, axes, sizes, policy);
    }
  } else if (auto scales = read_list(ctx, scales_input, axes.size(), "values of Resize's scales")) {
    for (size_t k = 0; k < axes.size(); ++k)
      if (keeps_whole_axis(ctx, k, axes.size())) out[axes[k]] = scaled_size(x.dim(axes[k]), (*scales)[k]);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// Scales are attributes in opsets 1 (height, width) and 7 (all axes), an input since.
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
    const ir::Attribute* attribute = ctx.attribute("scales");
    const auto* list = attribute ? attribute->as<std::vector<float>>() : nullptr;
    if (!list || list->size() != scales.size()) return ctx.invalid("Upsample's scales need one value for each axis");
    std::transform(list->begin(), list->end(), scales.begin(), [](float s) { return Element::real(s); });
  } else if (auto list = read_list(ctx, 1, scales.size(), "values of Upsample's scales")) {
    scales = std::move(*list);
  }
  Shape out(x.rank());
  for (int k = 0; k < x.rank(); ++k) out[k] = scaled_size(x.dim(k), scales[k]);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

}  // namespace

void add_resize_ops(Registry& r) {
  r.add({"", "Resize", resize_rule, OpClass::kOther});
  r.add({"", "Upsample", upsample_rule, OpClass::kOther});
}

}  // namespace thaw::ops
