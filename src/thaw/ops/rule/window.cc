#include "thaw/ops/rule/window.h"

#include <limits>
#include <string>

#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

std::optional<std::vector<int64_t>> read_attribute_list(Context& ctx, std::string_view name, size_t length,
                                                        int64_t otherwise, int64_t lowest) {
  auto list = ctx.attr_ints(name);
  if (!list || list->empty()) return std::vector<int64_t>(length, otherwise);
  if (list->size() != length) {
    ctx.invalid(std::string(name) + " has " + std::to_string(list->size()) + " values where " + std::to_string(length) +
                " are needed");
    return std::nullopt;
  }
  for (int64_t v : *list) {
    if (v >= lowest) continue;
    ctx.invalid(std::string(name) + " holds " + std::to_string(v) + ", less than " + std::to_string(lowest));
    return std::nullopt;
  }
  return list;
}

std::optional<AutoPad> read_auto_pad(Context& ctx) {
  std::string_view text = ctx.attr_string("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::kNotSet;
  if (text == "SAME_UPPER") return AutoPad::kSameUpper;
  if (text == "SAME_LOWER") return AutoPad::kSameLower;
  if (text == "VALID") return AutoPad::kValid;
  ctx.invalid("auto_pad '" + std::string(text) + "' is not one of NOTSET, SAME_UPPER, SAME_LOWER, VALID");
  return std::nullopt;
}

// The window count with explicit pads, rounded up: windows start at 0, stride, … and the last may reach past the end,
// but must start before the padding there.
Dim rounded_up(Dim in, Dim extent, int64_t stride, int64_t begin, int64_t end) {
  auto fixed = extent.constant();
  Dim by_dependence = dim::ceil_div(in + begin + end - extent, stride) + 1;
  Dim by_start = dim::ceil_div(in + begin, stride);
  if (!fixed) return dim::min(by_dependence, by_start);
  // Which of the two is smaller does not depend on the input's size.
  if (end > *fixed) return dim::min(by_dependence, by_start);
  return stride + end <= *fixed ? by_dependence : by_start;
}

// A pool of windows that begin `stride` apart: how much of the padded input is left when the first window is taken away
// may be negative.
Dim pool_size(Context& ctx, Dim left, int64_t stride, Dim in, At from) {
  const Dim specified = dim::floor_div(left, stride) + 1;
  if (at_least(left, 0)) return specified;
  if (ctx.wants_sizes_as_run()) {
    ctx.require_at_most(1, in, "a pooled axis that is not empty", {}, from);
  } else if (!in.is_constant()) {
    return specified;
  }
  const Dim run = dim::floor_div(dim::max(left, 0), stride) + dim::ceil_div(dim::min(left, 0), stride) + 1;
  // Short of the second stride there is always one window.
  return at_least(left, 1 - stride) ? dim::max(specified, 1) : run;
}

// States what a pool asks of its window: the specification that it fits, ONNX Runtime that no size gets negative.
void require_pool_window(Context& ctx, Dim extent, Dim padded, int64_t stride, At from) {
  ctx.specify_at_most(extent, padded, "a window within the padded input", {}, from);
  ctx.require_at_most(extent, padded + stride + (stride - 1), "a window less two strides within the padded input", {},
                      from);
}

}  // namespace

std::optional<Window> read_window(Context& ctx, int spatial) {
  if (spatial < 0) return std::nullopt;
  size_t n = static_cast<size_t>(spatial);
  Window w;
  auto auto_pad = read_auto_pad(ctx);
  auto strides = read_attribute_list(ctx, "strides", n, 1, 1);
  auto dilations = read_attribute_list(ctx, "dilations", n, 1, 1);
  auto pads = read_attribute_list(ctx, "pads", 2 * n, 0, std::numeric_limits<int32_t>::min());
  auto kernel = ctx.has_attribute("kernel_shape") ? read_attribute_list(ctx, "kernel_shape", n, 1, 1) : std::nullopt;
  if (!auto_pad || !strides || !dilations || !pads || (ctx.has_attribute("kernel_shape") && !kernel))
    return std::nullopt;
  w.auto_pad = *auto_pad;
  w.ceil_mode = ctx.attr_int("ceil_mode", 0) != 0;
  w.strides = std::move(*strides);
  w.dilations = std::move(*dilations);
  w.pads_begin.assign(pads->begin(), pads->begin() + spatial);
  w.pads_end.assign(pads->begin() + spatial, pads->end());
  if (kernel && !ctx.attr_ints("kernel_shape").value_or(std::vector<int64_t>()).empty())
    w.kernel.assign(kernel->begin(), kernel->end());
  else
    w.kernel.assign(n, Dim());
  return w;
}

void take_kernel(Context& ctx, Window& window, int weight, int first) {
  const Fact& w = ctx.input(weight);
  if (!w.has_rank() || w.rank() != first + static_cast<int>(window.rank())) return;
  for (size_t k = 0; k < window.rank(); ++k) {
    int axis = first + static_cast<int>(k);
    if (window.kernel[k].is_unknown())
      window.kernel[k] = w.dim(axis);
    else
      window.kernel[k] =
          ctx.require_equal(window.kernel[k], w.dim(axis), "kernel_shape and the weight", {}, {weight, axis});
  }
}

Dim window_output(Context& ctx, const Window& w, size_t k, Dim in, At from) {
  int64_t stride = w.strides[k];
  switch (w.auto_pad) {
    case AutoPad::kSameUpper:
    case AutoPad::kSameLower:
      // ONNX Runtime's pools leave dilations out when they pad, so the specification's size is not what comes out.
      return w.is_pool && w.dilations[k] != 1 ? Dim() : dim::ceil_div(in, stride);
    case AutoPad::kValid: {
      Dim extent = w.extent(k);
      if (w.is_pool && !w.must_fit) {
        require_pool_window(ctx, extent, in, stride, from);
      } else {
        ctx.require_at_most(extent, in, "a window within the input", {}, from);
      }
      Dim down = w.is_pool && !w.must_fit ? pool_size(ctx, in - extent, stride, in, from)
                                          : dim::floor_div(in - extent, stride) + 1;
      if (!w.is_pool || w.must_fit) ctx.imply_at_least(down, 1);
      if (!w.ceil_mode) return down;
      // The specification rounds VALID down even with ceil_mode, ONNX Runtime rounds it up: say only what both agree
      // on.
      Dim up = rounded_up(in, extent, stride, 0, 0);
      return dim::same(down, up) ? down : Dim();
    }
    case AutoPad::kNotSet:
      break;
  }
  Dim extent = w.extent(k), padded = in + w.pads_begin[k] + w.pads_end[k];
  const bool is_lenient = w.is_pool && !w.must_fit;
  if (is_lenient) {
    require_pool_window(ctx, extent, padded, stride, from);
  } else {
    ctx.require_at_most(extent, padded, "a window within the padded input", {}, from);
  }
  if (w.ceil_mode) return rounded_up(in, extent, stride, w.pads_begin[k], w.pads_end[k]);
  if (is_lenient) return pool_size(ctx, padded - extent, stride, in, from);
  const Dim out = dim::floor_div(padded - extent, stride) + 1;
  ctx.imply_at_least(out, 1);
  return out;
}

int spatial_rank_of_attributes(Context& ctx) {
  for (std::string_view name : {"kernel_shape", "strides", "dilations"})
    if (auto list = ctx.attr_ints(name); list && !list->empty()) return static_cast<int>(list->size());
  if (auto pads = ctx.attr_ints("pads"); pads && !pads->empty()) return static_cast<int>(pads->size() / 2);
  return -1;
}

}  // namespace thaw::ops
