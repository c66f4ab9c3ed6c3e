// Pools and regions of images, shared by ai.onnx and com.microsoft operators.
#pragma once

#include <optional>
#include <string_view>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/window.h"

namespace thaw::ops {

// A pool over the spatial axes of input 0, which is (N, C, spatial…), or (N, spatial…, C) when `channels_last`.
// `must_fit`: its kernel has no case for a window that is larger than the padded input.
std::optional<Shape> pool_shape(Context& ctx, bool channels_last = false, bool must_fit = false);
// What reduces each of its windows to a number: "ReduceMean" of an AveragePool; empty of what is no pool or outputs indices too.
std::string_view reduction_of_pool(const ir::Node& node);
// Its spatial axes reduced to 1.
std::optional<Shape> global_pool_shape(Context& ctx, bool channels_last = false);

inline constexpr Axes kPoolAxes = axes_by("n c x~... -> n c x~...");
std::optional<AxesMap> global_pool_axes(NodeView& view, Combine combine, bool channels_last = false);

// Operands: images, regions, the number of each region's image, then what says the size of the results.
std::optional<AxesMap> region_axes(NodeView& view);
void batch_regions(BatchContext& n);

}  // namespace thaw::ops
