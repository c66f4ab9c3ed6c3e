#include "thaw/lift/align/cut_windows.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "thaw/infer/infer.h"
#include "thaw/lift/align/slice.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {
namespace {

// Windows from the first of these pieces on.
std::optional<CutWindows> windows_from(std::span<const std::vector<AxisPiece>> pieces, std::span<const int64_t> lengths,
                                       size_t first) {
  const std::span<const AxisPiece> model = std::span(pieces.front()).subspan(first);
  CutWindows windows{.first = model[0].begin,
                     .length = model[0].end - model[0].begin,
                     .stride = model[1].begin - model[0].begin,
                     .count = std::ssize(model)};
  if (windows.length < windows.stride) return std::nullopt;
  const int64_t last = windows.first + (windows.count - 1) * windows.stride, whole = last + windows.length;
  bool are_whole = true, reach_the_end = true, leave_less = true;
  int64_t least = lengths[0] - last, most = least;  // from where the last one begins
  for (size_t k = 0; k < pieces.size(); ++k) {
    if (pieces[k].size() != pieces.front().size()) return std::nullopt;
    for (int64_t i = 0; i < windows.count; ++i) {
      const AxisPiece& piece = pieces[k][first + static_cast<size_t>(i)];
      const int64_t begin = windows.first + i * windows.stride;
      if (piece != AxisPiece{begin, std::min(begin + windows.length, lengths[k])}) return std::nullopt;
    }
    if (pieces[k][first].end != model[0].end || lengths[k] <= model[0].end) return std::nullopt;
    are_whole = are_whole && lengths[k] >= whole;
    leave_less = leave_less && lengths[k] - whole < windows.stride;
    reach_the_end = reach_the_end && lengths[k] <= whole;
    least = std::min(least, lengths[k] - last);
    most = std::max(most, lengths[k] - last);
  }
  if (reach_the_end && !(are_whole && least == most)) {
    // Begins go on while more than so much is left, which is less than all traces have, and as much as leaves none behind the last.
    windows.has_short_last = true;
    windows.least_left = std::max<int64_t>(0, most - windows.stride);
    windows.most_left = std::min(windows.length - windows.stride, least - 1);
    return windows.least_left <= windows.most_left ? std::optional(windows) : std::nullopt;
  }
  return are_whole && leave_less ? std::optional(windows) : std::nullopt;
}

// Slices of one tensor along one axis, from its first entry on, all of one length, each where the one before ends; those of one begin
// are one window.
struct SideBySide {
  std::vector<Slice> slices;
  int64_t last_begin() const { return slices.back().begin; }
  int64_t end() const { return slices.back().end; }
};

std::vector<SideBySide> side_by_side(const ir::Graph& graph) {
  std::vector<SideBySide> found;
  std::map<std::pair<const ir::Value*, int64_t>, size_t> places;
  for (ir::Node* node : graph.nodes()) {
    if (ops::role_of(*node, 1) != ops::Role::kBounds) continue;
    const auto slice = node->output(0) ? slice_of(*node->output(0)) : std::nullopt;
    if (!slice) continue;
    const auto [place, is_new] = places.try_emplace({slice->whole(), slice->axis}, found.size());
    if (is_new) found.emplace_back();
    found[place->second].slices.push_back(*slice);
  }
  const auto are_windows = [](SideBySide& cut) {
    std::ranges::stable_sort(cut.slices, {}, &Slice::begin);
    const int64_t length = cut.slices.front().length();
    int64_t begin = 0;
    for (const Slice& slice : cut.slices) {
      if (slice.begin == begin + length) begin += length;
      if (slice.begin != begin || slice.length() != length) return false;
    }
    return begin > 0;
  };
  std::erase_if(found, [&](SideBySide& cut) { return !are_windows(cut); });
  return found;
}

}  // namespace

std::optional<CutWindows> windows_of(std::span<const std::vector<AxisPiece>> pieces, std::span<const int64_t> lengths) {
  const size_t count = pieces.empty() ? 0 : pieces.front().size();
  if (count >= 2 && pieces.front().front().begin == 0)
    if (auto windows = windows_from(pieces, lengths, 0)) return windows;
  return count >= 4 ? windows_from(pieces, lengths, 1) : std::nullopt;
}

void end_windows_with_axes(std::vector<Trace>& traces) {
  struct Cut {
    ir::Graph* graph;
    SideBySide windows;
    int64_t length;
  };
  using Kind =
      std::pair<int64_t, int64_t>;  // the windows' length and axis: what stands for each other in the traces has one
  std::map<Kind, std::vector<Cut>> cuts;
  std::set<Kind> others;
  for (const Trace& trace : traces) {
    ir::Graph& graph = *trace.model->graph;
    std::vector<SideBySide> all = side_by_side(graph);
    if (all.empty()) continue;
    dim::Scope scope;
    const infer::Result facts = infer::infer(*trace.model, scope);
    for (SideBySide& windows : all) {
      const Slice& first = windows.slices.front();
      const auto sizes = ops::constant_shape(facts.fact(first.whole()).shape);
      const size_t axis = sizes ? first.axis_of(sizes->size()) : 0;
      const int64_t length = sizes && axis < sizes->size() ? (*sizes)[axis] : 0;
      const Kind kind{first.length(), first.axis};
      // What leaves something, or has a window of nothing, is no loop to the end of the axis.
      if (length <= windows.last_begin() || length > windows.end()) others.insert(kind);
      cuts[kind].push_back({&graph, std::move(windows), length});
    }
  }
  for (const auto& [kind, all] : cuts) {
    if (others.contains(kind)) continue;
    for (const Cut& cut : all)
      for (const Slice& slice : cut.windows.slices) {
        if (slice.end <= cut.length) continue;
        slice.node->set_input(2, cut.graph->add_initializer(ir::Tensor::from_int64(cut.graph->unique_name("end"), {1},
                                                                                   std::vector<int64_t>{cut.length})));
      }
  }
}

}  // namespace thaw::lifting
