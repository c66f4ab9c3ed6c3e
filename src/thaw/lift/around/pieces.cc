#include "thaw/lift/around/pieces.h"

#include <algorithm>
#include <set>
#include <utility>

#include "thaw/lift/term/numbers.h"
#include "thaw/ops/rule/product_groups.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {
namespace {

void note_steps(const ir::Node& node, std::set<int64_t>& windows) {
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    const ir::Value* steps = ops::role_of(node, i) == ops::Role::kSteps ? node.input(i) : nullptr;
    if (steps && steps->constant() && !steps->is_input())
      for (const int64_t step : steps->constant()->to_int64()) windows.insert(step);
  }
}

// Axes of the node's result that are the same in every trace, where those of its data are not: what a Pad fills up to one window.
std::set<size_t> evened_axes(const TracedShapes& shapes, const ir::Node& node) {
  std::set<size_t> evened;
  const auto place = shapes.place_of(&node);
  if (!place) return evened;
  const auto in = shapes.operand(*place), out = shapes.result(*place);
  for (size_t axis = 0; in && out && in->size() == out->size() && axis < out->size(); ++axis)
    if (all_equal((*out)[axis]) && !all_equal((*in)[axis])) evened.insert(axis);
  return evened;
}

// evened: axes of its data that are the same in every trace, but were not before.
void note_steady_sizes(const TracedShapes& shapes, const ir::Node& node, const std::set<size_t>& evened,
                       std::set<int64_t>& windows) {
  const auto place = shapes.place_of(&node);
  const auto in = place ? shapes.operand(*place) : std::nullopt, out = place ? shapes.result(*place) : std::nullopt;
  if (!out) return;
  const auto note = [&](size_t begin, size_t end) {
    for (size_t axis = begin; axis < end; ++axis)
      if (all_equal((*out)[axis])) windows.insert((*out)[axis].front());
  };
  // Axes that are made of such as are the same in every trace say nothing of how others are cut.
  size_t told = 0;
  for (const ops::AxisGroup& group : in ? ops::leading_groups(*in, *out) : std::vector<ops::AxisGroup>()) {
    bool varies = false;
    for (size_t axis = group.in_begin; axis < group.in_end; ++axis)
      varies |= evened.contains(axis) || !all_equal((*in)[axis]);
    if (varies) note(group.out_begin, group.out_end);
    told = group.out_end;
  }
  note(told, out->size());
}

// By which number a Reshape cuts an axis of its data, as the inner one of two axes; 0 where it does not.
int64_t piece_of(const TracedShapes& shapes, size_t place, size_t axis) {
  const auto in = shapes.operand(place), out = shapes.result(place);
  if (!in || !out) return 0;
  const std::vector<ops::AxisGroup> groups = ops::leading_groups(*in, *out);
  const auto of_axis = std::ranges::find_if(groups, [&](const ops::AxisGroup& group) { return axis < group.in_end; });
  if (of_axis == groups.end()) return 0;
  const auto& [in_begin, in_end, out_begin, out_end] = *of_axis;
  const bool cuts = axis + 1 == in_end && out_end - out_begin > 1 && all_equal((*out)[out_end - 1]);
  return cuts ? (*out)[out_end - 1].front() : 0;
}

int64_t piece_after(const TracedShapes& shapes, size_t place, size_t axis, const TracedAxes& axes) {
  constexpr int kFarthest = 12;
  std::set<int64_t> pieces;
  std::vector<const ir::Node*> here{&shapes.node(place)};
  for (int far = 0; far < kFarthest && !here.empty(); ++far) {
    std::vector<const ir::Node*> next;
    for (const ir::Node* each : here) {
      for (const ir::Use& use : each->output(0)->uses()) {
        const auto reader = shapes.place_of(use.node);
        if (!reader) continue;
        if (use.index == 0 && ops::role_of(*use.node, 1) == ops::Role::kShape && shapes.keeps_elements(*reader)) {
          if (const int64_t piece = piece_of(shapes, *reader, axis); piece > 1) pieces.insert(piece);
          continue;
        }
        // What leaves the axis as long is passed over.
        const auto made = shapes.result(*reader);
        const bool keeps = made && made->size() == axes.size() && (*made)[axis] == axes[axis];
        if (keeps && std::ranges::find(next, use.node) == next.end()) next.push_back(use.node);
      }
    }
    if (!pieces.empty()) break;
    here = std::move(next);
  }
  return pieces.size() == 1 ? *pieces.begin() : 0;
}

}  // namespace

std::vector<int64_t> windows_after(const TracedShapes& shapes, const ir::Node& node) {
  constexpr int kFarthest = 8;
  const std::set<size_t> evened = evened_axes(shapes, node);
  std::set<int64_t> windows;
  std::vector<const ir::Node*> here{&node};
  for (int far = 0; far < kFarthest && !here.empty() && windows.empty(); ++far) {
    std::vector<const ir::Node*> next;
    for (const ir::Node* each : here) {
      for (const ir::Use& use : each->output(0)->uses()) {
        for (const int64_t stride : use.node->attribute_ints("strides")) windows.insert(stride);
        note_steps(*use.node, windows);
        if (ops::role_of(*use.node, 1) == ops::Role::kShape)
          note_steady_sizes(shapes, *use.node, far == 0 ? evened : std::set<size_t>(), windows);
        const ops::Operator* op = ops::registry().find(*use.node);
        if (op && op->moves_elements() && use.node->output(0)) next.push_back(use.node);
      }
    }
    windows.erase(windows.begin(), windows.upper_bound(1));
    here = std::move(next);
  }
  return {windows.begin(), windows.end()};
}

std::vector<int64_t> pieces_after(const TracedShapes& shapes, size_t place) {
  std::vector<int64_t> pieces;
  if (const auto axes = shapes.result(place))
    for (size_t axis = 0; axis < axes->size(); ++axis) pieces.push_back(piece_after(shapes, place, axis, *axes));
  return pieces;
}

JoinedSizes joined_sizes(const TracedShapes& shapes) {
  constexpr size_t kMostPieces = 16;
  JoinedSizes joined;
  for (size_t place = 0; place < shapes.num_places(); ++place) {
    const ir::Node& node = shapes.node(place);
    const ops::Operator* op = ops::registry().find(node);
    const size_t count = node.inputs().size();
    if (!op || !op->moves_elements() || count < 2 || count > kMostPieces) continue;
    const auto whole = shapes.result(place);
    std::vector<TracedAxes> parts;
    for (size_t i = 0; i < count && whole; ++i)
      if (auto part = shapes.operand(place, static_cast<int>(i)); part && part->size() == whole->size())
        parts.push_back(std::move(*part));
    if (!whole || parts.size() != count) continue;
    for (size_t axis = 0; axis < whole->size(); ++axis) {
      std::vector<std::vector<int64_t>> pieces;
      std::vector<int64_t> sum((*whole)[axis].size(), 0);
      for (TracedAxes& part : parts) {
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += part[axis][k];
        pieces.push_back(std::move(part[axis]));
      }
      if (sum == (*whole)[axis] && !all_equal(sum)) joined.emplace(std::move(sum), std::move(pieces));
    }
  }
  return joined;
}

}  // namespace thaw::lifting
