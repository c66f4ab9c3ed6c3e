#include "thaw/ops/onnx/padded_windows.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace thaw::ops {
namespace {

std::optional<double> fill_of(const ir::Node& node) {
  if (!node.domain().empty()) return std::nullopt;
  if (node.op_type() == "Conv") return 0;
  if (node.op_type() == "AveragePool" && node.attribute_int("count_include_pad", 0) != 0) return 0;
  const ir::Value* places = node.output(1);
  if (node.op_type() != "MaxPool" || (places && places->is_used())) return std::nullopt;
  return -std::numeric_limits<double>::infinity();
}

}  // namespace

std::optional<PaddedWindows> padded_windows(const ir::Node& node) {
  const auto fill = fill_of(node);
  const std::string_view auto_pad = node.attribute_string("auto_pad", "NOTSET");
  if (!fill || (!auto_pad.empty() && auto_pad != "NOTSET") || node.attribute_int("ceil_mode", 0) != 0)
    return std::nullopt;
  PaddedWindows windows{.fill = *fill, .kernel = {}, .pads = {}};
  const auto kernel = node.attribute_ints("kernel_shape"), pads = node.attribute_ints("pads");
  windows.kernel.assign(kernel.begin(), kernel.end());
  const ir::Tensor* weight = kernel.empty() && node.input(1) ? node.input(1)->fixed_constant() : nullptr;
  if (weight && weight->dims.size() > 2) windows.kernel.assign(weight->dims.begin() + 2, weight->dims.end());
  windows.pads.assign(pads.begin(), pads.end());
  if (pads.empty()) windows.pads.assign(2 * windows.kernel.size(), 0);
  if (windows.kernel.empty() || windows.pads.size() != 2 * windows.kernel.size()) return std::nullopt;
  if (std::ranges::any_of(windows.pads, [](int64_t pad) { return pad < 0; })) return std::nullopt;
  return windows;
}

}  // namespace thaw::ops
