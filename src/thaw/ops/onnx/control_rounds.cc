#include "thaw/ops/onnx/control_rounds.h"

#include <optional>

#include "thaw/ops/onnx/loop_condition.h"
#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {
TripCount trip_count(NodeView& view) {
  TripCount trips;
  if (view.has_input(0)) {
    const auto m = view.dims_from(0);
    if (m && m->size() == 1) trips.limit = dim::max(m->front(), 0);
  }
  const auto condition = view.has_input(1) ? view.number(1) : std::optional<double>(1);
  trips.starts = condition && *condition != 0;
  trips.never = (condition && *condition == 0) || trips.limit.is_constant(0);
  return trips;
}

dim::Dim if_rounds(NodeView& view, const ir::Graph& branch) {
  const Elements* elements = view.elements(0);
  const dim::Dim holds = elements && elements->size() == 1 ? elements->front().as_dim() : dim::Dim();
  if (holds.is_unknown()) return 1;
  return &branch == view.attr_graph("then_branch") ? holds : 1 - holds;
}

dim::Dim loop_rounds(NodeView& view, const ir::Graph& body) {
  const TripCount trips = trip_count(view);
  if (trips.never) return 0;
  return trips.starts && (!view.has_input(1) || goes_on(body)) ? trips.limit : dim::Dim();
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
