#include "thaw/ops/onnx/control_rounds.h"

#include <algorithm>

namespace thaw::ops {
namespace {

// Whether the body's condition, its second input and first output, stays what it was or is always true.
bool never_stops(const ir::Graph& body) {
  if (body.inputs().size() < 2 || body.outputs().empty()) return false;
  const ir::Value* condition = body.outputs()[0];
  while (condition && condition->producer() && condition->producer()->op_type() == "Identity")
    condition = condition->producer()->input(0);
  if (!condition || condition == body.inputs()[1]) return condition != nullptr;
  const ir::Tensor* always = condition->constant();
  return always && always->num_elements() == 1 && always->to_double().front() != 0;
}

}  // namespace

dim::Dim if_rounds(NodeView& view, const ir::Graph& branch) {
  const Elements* elements = view.elements(0);
  const dim::Dim holds = elements && elements->size() == 1 ? elements->front().as_dim() : dim::Dim();
  if (holds.is_unknown()) return 1;
  return &branch == view.attr_graph("then_branch") ? holds : 1 - holds;
}

dim::Dim loop_rounds(NodeView& view, const ir::Graph& body) {
  const auto condition = view.has_input(1) ? view.number(1) : std::optional<double>(1);
  if (condition && *condition == 0) return 0;
  const auto limit = view.has_input(0) ? view.dims_from(0) : std::nullopt;
  if (!limit || limit->size() != 1) return {};
  const dim::Dim most = dim::max(limit->front(), 0);
  return most.is_constant(0) || (condition && (!view.has_input(1) || never_stops(body))) ? most : dim::Dim();
}

dim::Dim scan_rounds(NodeView& view, const ir::Graph&) {
  constexpr int64_t kOpsetWithoutSamples = 9;
  const bool has_samples = view.opset() < kOpsetWithoutSamples;  // then operand 0 is their lengths
  const int64_t scanned = view.attr_int("num_scan_inputs", 0);
  if (scanned < 1 || scanned > view.num_inputs()) return {};
  const int64_t first = view.num_inputs() - scanned;
  if (has_samples && first < 1) return {};
  const Fact& fact = view.input(static_cast<int>(first));
  if (has_samples) return fact.rank() < 2 ? dim::Dim() : fact.dim(0) * fact.dim(1);
  const auto axes = view.attr_ints("scan_input_axes");
  int64_t axis = axes && !axes->empty() ? axes->front() : 0;
  if (axis < 0) axis += fact.rank();
  return axis < 0 || axis >= fact.rank() ? dim::Dim() : fact.dim(static_cast<int>(axis));
}

dim::Dim sequence_map_rounds(NodeView& view, const ir::Graph&) { return view.input(0).length; }

}  // namespace thaw::ops
