// Operators of com.microsoft that ONNX has by now, under the same name or another.
#include <string>

#include "thaw/ops/microsoft/standard.h"

namespace thaw::ops {
namespace {

using ir::Value;

std::vector<Value*> operands(const AdapterContext& n) { return {n.node().inputs().begin(), n.node().inputs().end()}; }

}  // namespace

void standard_trilu(AdapterContext& n) {
  n.become(0, n.at().emit("Trilu", operands(n), {{"upper", n.attr_int("upper", 1)}}));
}

// Its pads may be a matrix of one row.
void standard_pad(AdapterContext& n) {
  std::vector<Value*> inputs = operands(n);
  if (!n.input(1).has_rank()) throw NoEqual{"the rank of its pads is not known"};
  if (n.input(1).rank() != 1) inputs[1] = n.at().reshape(inputs[1], n.at().list({-1}));
  n.become(0, n.at().emit("Pad", std::move(inputs), {{"mode", std::string(n.attr_string("mode", "constant"))}}));
}

void standard_expand_dims(AdapterContext& n) {
  const auto axis = n.ints(1);
  if (!axis || axis->size() != 1) throw NoEqual{"its axis is not a constant"};
  n.become(0, n.at().unsqueeze(n.changing().input(0), {axis->front()}));
}

void standard_grid_sample(AdapterContext& n) {
  std::string mode(n.attr_string("mode", "bilinear"));
  const bool is_renamed = n.at().writer().opset() >= 20;
  if (is_renamed && mode == "bilinear") mode = "linear";
  if (is_renamed && mode == "bicubic") mode = "cubic";
  n.become(0, n.at().emit("GridSample", operands(n),
                          {{"mode", mode},
                           {"padding_mode", std::string(n.attr_string("padding_mode", "zeros"))},
                           {"align_corners", n.attr_int("align_corners", 0)}}));
}

// Of each row to each: |a|² - 2 a b + |b|² loses what is near, so that differences are taken.
void standard_distances(AdapterContext& n) {
  const Emit& at = n.at();
  const std::string_view metric = n.attr_string("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean") throw NoEqual{"its metric is another than Euclid's"};
  Value* apart = at.sub(at.unsqueeze(n.changing().input(0), {1}), at.unsqueeze(n.changing().input(1), {0}));
  Value* squares = at.reduce("ReduceSum", at.mul(apart, apart), {2}, false);
  n.become(0, metric == "euclidean" ? at.emit("Sqrt", {squares}) : squares);
}

}  // namespace thaw::ops
