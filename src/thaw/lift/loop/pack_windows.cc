#include "thaw/lift/loop/pack_windows.h"

#include <algorithm>
#include <numeric>

namespace thaw::lifting {

std::optional<int64_t> equal_windows(std::span<const std::vector<int64_t>> lengths) {
  const int64_t size = std::max_element(lengths.begin(), lengths.end(), [](const auto& a, const auto& b) {
                         return a.front() < b.front();
                       })->front();
  for (const std::vector<int64_t>& each : lengths) {
    const bool whole = std::all_of(each.begin(), each.end() - 1, [&](int64_t length) { return length == size; });
    if (!whole || each.back() > size || each.back() < 1) return std::nullopt;
  }
  // A size that only single windows have is no size of windows.
  const bool seen = std::any_of(lengths.begin(), lengths.end(), [](const auto& each) { return each.size() > 1; });
  return seen ? std::optional(size) : std::nullopt;
}

ir::Value* emit_equal_windows(TableEmitter& e, ir::Value* positions, int64_t size) {
  ir::Value* count = e.div(e.add(positions, e.list({size - 1})), e.list({size}));
  ir::Value* end = e.emit("Reshape", {count, e.list({})});
  ir::Value* starts = e.mul(e.emit("Range", {e.integer(0), end, e.integer(1)}), e.list({size}));
  return e.emit("Min", {e.sub(positions, starts), e.list({size})});
}

WindowNodes emit_windows(TableEmitter& e, ir::Value* lengths, ir::Value* positions) {
  WindowNodes nodes;
  nodes.lengths = lengths;
  ir::Value* starts = e.column(e.sub(e.emit("CumSum", {lengths, e.integer(0)}), lengths));
  ir::Value* longest = e.emit("ReduceMax", {lengths}, {{"keepdims", int64_t{0}}});
  ir::Value* within = e.emit("Range", {e.integer(0), longest, e.integer(1)});
  nodes.valid = e.emit("Less", {within, e.column(lengths)});
  ir::Value* at = e.add(starts, within);
  nodes.source = e.emit("Where", {nodes.valid, at, starts});
  // Every place is written to the position that stands there; padding to one past the last, which is cut off.
  ir::Value* flat = e.list({-1});
  ir::Value* targets = e.emit("Reshape", {e.emit("Where", {nodes.valid, at, positions}), flat});
  ir::Value* count = e.emit("Size", {nodes.source});
  ir::Value* places = e.emit("Range", {e.integer(0), count, e.integer(1)});
  // A position in no window, if the lengths were not those of the tensor, is read from nowhere: an error, no number.
  ir::Value* none = e.emit("Expand", {count, e.add(positions, e.list({1}))});
  ir::Value* all = e.emit("ScatterElements", {none, targets, places}, {{"axis", int64_t{0}}});
  nodes.place = e.emit("Slice", {all, e.list({0}), positions});
  return nodes;
}

namespace {

// A tensor with its axes in another order.
ir::Value* reordered(TableEmitter& e, ir::Value* x, const std::vector<int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  return e.emit("Transpose", {x}, {{"perm", order}});
}

}  // namespace

ir::Value* emit_pack(TableEmitter& e, const WindowNodes& windows, ir::Value* x, int64_t axis, int64_t rank) {
  ir::Value* cut = e.emit("Gather", {x, windows.source}, {{"axis", axis}});  // [… num_windows, longest …]
  std::vector<int64_t> order(static_cast<size_t>(rank) + 1);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return reordered(e, cut, order);
}

ir::Value* emit_unpack(TableEmitter& e, const WindowNodes& windows, ir::Value* packed, int64_t axis, int64_t rank) {
  // [num_windows, … longest …] -> [num_windows, longest, …] -> [num_windows * longest, …] -> [n, …] -> [… n …]
  std::vector<int64_t> order(static_cast<size_t>(rank) + 1);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::rotate(order.begin() + 1, order.begin() + axis + 1, order.begin() + axis + 2);
  ir::Value* front = reordered(e, packed, order);
  ir::Value* others = e.emit("Slice", {e.emit("Shape", {front}), e.list({2}), e.list({INT64_MAX})});
  ir::Value* rows = e.emit("Reshape", {front, e.concat({e.list({-1}), others}, 0)});
  ir::Value* joined = e.emit("Gather", {rows, windows.place}, {{"axis", int64_t{0}}});
  std::vector<int64_t> back(static_cast<size_t>(rank));
  std::iota(back.begin(), back.end(), int64_t{0});
  std::rotate(back.begin(), back.begin() + 1, back.begin() + axis + 1);
  return reordered(e, joined, back);
}

}  // namespace thaw::lifting
