// Signals: DFT, STFT, the mel weight matrix, windows.
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

// A scalar input as a size; unknown when it is not followed.
Dim scalar_from(Context& ctx, int input) {
  auto list = ctx.has_input(input) ? ctx.dims_from(input) : std::nullopt;
  return list && list->size() == 1 ? list->front() : Dim();
}

// Length of the transformed axis: of a one-sided transform a bit over half, of its inverse the full signal again.
Dim transformed_length(Context& ctx, Dim length, Dim in, bool onesided, bool inverse) {
  bool given = ctx.has_input(1);
  if (onesided && inverse) return given ? length : (in - 1) * 2;
  Dim full = given ? length : in;
  return onesided ? dim::floor_div(full, 2) + 1 : full;
}

// The axis is an attribute in opset 17, an input with default -2 since.
bool has_axis_attribute(const NodeView& view) { return view.opset() < 20; }

void dft_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  ctx.set_tensor(0, x.dtype, std::nullopt);
  if (!x.has_rank()) return;
  int rank = x.rank();
  if (rank < 2) return ctx.invalid("DFT needs a signal and a last axis of 1 or 2, not rank " + std::to_string(rank));
  bool onesided = ctx.attr_int("onesided", 0) != 0, inverse = ctx.attr_int("inverse", 0) != 0;
  Dim axis = has_axis_attribute(ctx) ? Dim(ctx.attr_int("axis", 1)) : ctx.has_input(2) ? scalar_from(ctx, 2) : Dim(-2);
  Dim length = scalar_from(ctx, 1);
  Shape out = *x.shape;
  const Dim parts = x.dim(rank - 1);
  if (onesided && inverse) {
    ctx.require_equal(2, parts, "the complex numbers of an inverse DFT", {}, {0, rank - 1});
  } else {
    // One of two factors is 0.
    ctx.require_equal((parts - 1) * (parts - 2), 0, "real or complex numbers of a DFT", {0, rank - 1});
  }
  out[rank - 1] = onesided && inverse ? 1 : 2;
  if (auto plain = axis.constant()) {
    auto at = normalize_axis(ctx, *plain, rank);
    if (!at) return;
    out[*at] = transformed_length(ctx, length, x.dim(*at), onesided, inverse);
  } else {
    Dim wrapped = wrapped_axis(axis, rank);
    for (int k = 0; k + 1 < rank; ++k)
      out[k] = select(is_equal(wrapped, k), transformed_length(ctx, length, x.dim(k), onesided, inverse), x.dim(k));
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

// signal (batch, length, 1 or 2) -> (batch, frames, bins, 2).
void stft_rule(Context& ctx) {
  const Fact &signal = ctx.input(0), &window = ctx.input(2);
  Shape out = {Dim(), Dim(), Dim(), 2};
  Dim total, frame;
  if (signal.has_rank()) {
    if (signal.rank() != 2 && signal.rank() != 3)
      return ctx.invalid("STFT's signal has rank " + std::to_string(signal.rank()) + ", not 3");
    out[0] = signal.dim(0);
    total = signal.dim(1);
  }
  if (ctx.has_input(3)) frame = scalar_from(ctx, 3);
  if (ctx.has_input(2)) {
    if (window.rank() == 1)
      frame = ctx.has_input(3) ? ctx.require_equal(frame, window.dim(0), "STFT's frame_length and window", {}, {2, 0})
                               : window.dim(0);
  } else if (!ctx.has_input(3)) {
    frame = total;
  }
  Dim step = scalar_from(ctx, 1);
  if (!step.is_constant(0)) out[1] = dim::floor_div(total - frame, step) + 1;
  ctx.require_at_most(frame, total, "a frame within STFT's signal", {}, {0, 1});
  out[2] = ctx.attr_int("onesided", 1) != 0 ? dim::floor_div(frame, 2) + 1 : frame;
  ctx.set_tensor(0, signal.dtype, std::move(out));
}

void mel_weight_rule(Context& ctx) {
  ctx.set_tensor(0, data_type_from_attr(ctx.attr_int("output_datatype", 1)),
                 Shape{dim::floor_div(scalar_from(ctx, 1), 2) + 1, scalar_from(ctx, 0)});
}

void window_rule(Context& ctx) {
  ctx.set_tensor(0, data_type_from_attr(ctx.attr_int("output_datatype", 1)), Shape{scalar_from(ctx, 0)});
}

void needs_of_dft(Context& ctx) {
  need_at_least(ctx, 1, 1, "the length of a DFT");
  if (ctx.has_input(2) && !ctx.ints(2)) ctx.leave_open("the axis of a DFT", 2);
}

void needs_of_stft(Context& ctx) {
  need_at_least(ctx, 1, 1, "the step of an STFT");
  need_at_least(ctx, 3, 1, "the length of an STFT's frame");
}

// The last axis has real and imaginary parts. Any other may be the one known only at run time.
std::optional<AxesMap> dft_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  std::optional<int64_t> axis = -2;
  if (has_axis_attribute(view)) {
    axis = view.attr_int("axis", 1);
  } else if (view.has_input(2)) {
    const auto given = view.ints(2);
    axis = given && given->size() == 1 ? std::optional(given->front()) : std::nullopt;
  }
  return AxesMap::in_place(rank,
                           [&](int k) { return !axis || BatchContext::positive(*axis, rank) == k || k == rank - 1; });
}

}  // namespace

void add_signal_ops(Registry& r) {
  using enum Role;
  r.add({.name = "DFT",
         .shape = dft_rule,
         .needs = needs_of_dft,
         .operands = {kData, kSize, kAxes},
         .attributes = {{"axis", kAxes, 1, 17, 19}},
         .axes = axes_by(dft_axes),
         .batch = batch_with(batch_shifting_axes),
         .widens = true});
  // Signal, step, window, length of a frame. Frames and frequencies are both made of the signal's positions.
  r.add({.name = "STFT",
         .shape = stft_rule,
         .needs = needs_of_stft,
         .operands = {kData, kSetting, kData, kSize},
         .axes = axes_by("b t~ c~ -> b t~ t~ c~ | b t~ -> b t~ t~ _"),
         .widens = true});
  r.add({.name = "MelWeightMatrix",
         .shape = mel_weight_rule,
         .op_class = OpClass::kGenerator,
         .operands = {kSize, kSize, kSetting},
         .axes = no_axes(kSizedByData)});
  r.add({"HannWindow", "HammingWindow", "BlackmanWindow"}, {.shape = window_rule,
                                                            .op_class = OpClass::kGenerator,
                                                            .needs = needs_sizes,
                                                            .operands = {kSize},
                                                            .axes = no_axes(kSizedByData)});
}

}  // namespace thaw::ops
