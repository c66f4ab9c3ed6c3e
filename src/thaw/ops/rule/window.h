// Sliding windows: what convolutions and pools have in common. Sizes follow the specification's formulas:
//   explicit pads   floor((in + pads - extent) / stride) + 1        extent = dilation * (kernel - 1) + 1
//   ceil_mode       the same rounded up, without a last window that would start in the padding at the end
//   SAME_*          ceil(in / stride)
//   VALID           explicit pads of 0
// Where the window is larger than the padded input, the first is 0 or less. ONNX Runtime's convolutions refuse that. Its
// pools divide as C++ does, towards zero, and so does ONNX's own shape inference: 1 for a window that is larger by less
// than a stride, 0 by less than two, and an error beyond.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

struct Window {
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false;
  bool is_pool = false;
  bool must_fit = false;         // of a pool: a window that is larger than the padded input is refused too
  std::vector<dim::Dim> kernel;  // one an axis; unknown where it comes from a weight of unknown size
  std::vector<int64_t> strides, dilations, pads_begin, pads_end;

  size_t rank() const { return strides.size(); }
  // Size of axis k's window in elements of the input.
  dim::Dim extent(size_t k) const { return dim::Dim(dilations[k]) * (kernel[k] - 1) + 1; }
};

// Reads auto_pad, strides, dilations, pads and kernel_shape for `spatial` axes; where kernel_shape is not given the
// kernel is unknown. nullopt (and ctx.invalid) when a list has another length or a value that makes no sense.
std::optional<Window> read_window(Context& ctx, int spatial);

// The kernel of a weight whose axes from `first` on are the window, which kernel_shape must match when it is given.
void take_kernel(Context& ctx, Window& window, int weight, int first);

// Output size of axis k for an input of size `in`, stating that at least one window fits (of a pool: that it is specified
// to, and what ONNX Runtime asks for). A pool's size is as ONNX Runtime makes it where `in` is a number or
// Context::wants_sizes_as_run(); else it is the specification's.
dim::Dim window_output(Context& ctx, const Window& window, size_t k, dim::Dim in, At from);

// Number of spatial axes as far as attributes tell: the length of kernel_shape, strides, dilations or half of pads; -1.
int spatial_rank_of_attributes(Context& ctx);

}  // namespace thaw::ops
