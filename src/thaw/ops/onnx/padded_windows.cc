#include "thaw/ops/onnx/padded_windows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "thaw/ops/onnx/pool.h"

namespace thaw::ops {
namespace {

std::optional<double> fill_of(const ir::Node& node) {
  if (node.domain().empty() && node.op_type() == "Conv") return 0;
  const std::string_view reduction = reduction_of_pool(node);
  if (reduction == "ReduceMax") return -std::numeric_limits<double>::infinity();
  const bool counts = reduction == "ReduceMean" && node.attribute_int("count_include_pad", 0) != 0;
  return counts ? std::optional(0.0) : std::nullopt;
}

}  // namespace

std::vector<int64_t> window_kernel(const ir::Node& node) {
  const auto given = node.attribute_ints("kernel_shape");
  if (!given.empty()) return {given.begin(), given.end()};
  const ir::Tensor* weight = node.input(1) ? node.input(1)->fixed_constant() : nullptr;
  if (!weight || weight->dims.size() <= 2) return {};
  return {weight->dims.begin() + 2, weight->dims.end()};
}

std::vector<int64_t> numbers_or(const ir::Node& node, std::string_view attribute, size_t count, int64_t otherwise) {
  const auto given = node.attribute_ints(attribute);
  return given.empty() ? std::vector<int64_t>(count, otherwise) : std::vector<int64_t>(given.begin(), given.end());
}

std::optional<PaddedWindows> padded_windows(const ir::Node& node) {
  const auto fill = fill_of(node);
  const std::string_view auto_pad = node.attribute_string("auto_pad", "NOTSET");
  if (!fill || (!auto_pad.empty() && auto_pad != "NOTSET") || node.attribute_int("ceil_mode", 0) != 0)
    return std::nullopt;
  std::vector<int64_t> kernel = window_kernel(node);
  const size_t axes = kernel.size();
  PaddedWindows windows{.fill = *fill,
                        .kernel = std::move(kernel),
                        .strides = numbers_or(node, "strides", axes, 1),
                        .dilations = numbers_or(node, "dilations", axes, 1),
                        .pads = numbers_or(node, "pads", 2 * axes, 0)};
  if (axes == 0 || windows.strides.size() != axes || windows.dilations.size() != axes ||
      windows.pads.size() != 2 * axes || std::ranges::any_of(windows.pads, [](int64_t pad) { return pad < 0; }))
    return std::nullopt;
  return windows;
}

}  // namespace thaw::ops
