// Reductions with the reshaping after them, reductions of reductions, stretches of shapes, and conditions as numbers.
#include <algorithm>
#include <cmath>

#include "thaw/optimize/tables.h"

namespace thaw::optimizing {
namespace {

constexpr std::string_view kReductions[] = {"ReduceSum",    "ReduceMean",      "ReduceMax", "ReduceMin",
                                            "ReduceProd",   "ReduceSumSquare", "ReduceL1",  "ReduceL2",
                                            "ReduceLogSum", "ReduceLogSumExp"};

const ir::Node* reduction_of(const Site& s, const ir::Value* value) {
  for (const std::string_view op : kReductions)
    if (const ir::Node* node = s.made_by(value, op)) return node;
  return nullptr;
}

bool keeps_axes(const ir::Node& node) { return node.attribute_int("keepdims", 1) != 0; }

std::optional<std::vector<int64_t>> sorted_axes(const Site& s, const ir::Node& node, int rank) {
  auto axes = s.axes(node, 1, rank);
  if (!axes || axes->empty()) return std::nullopt;
  std::ranges::sort(*axes);
  return axes;
}

// An Unsqueeze or a Squeeze of the axes that were reduced is the other form of the reduction.
ir::Value* reduced_the_other_way(const Site& s) {
  const ir::Node* reduction = reduction_of(s, s.input(0));
  if (!reduction || !s.is_only_reader_of(s.input(0))) return nullptr;
  const int rank = s.fact(reduction->input(0)).rank();
  const bool puts_back = s.node().op_type() == "Unsqueeze";
  if (puts_back == keeps_axes(*reduction) || (puts_back ? s.out() : s.in(0)).rank() != rank) return nullptr;
  const auto reduced = sorted_axes(s, *reduction, rank), changed = sorted_axes(s, s.node(), rank);
  if (!reduced || reduced != changed) return nullptr;
  return s.at().reduce(reduction->op_type(), reduction->input(0), *reduced, puts_back);
}

// The largest of the largest, sums of sums of integers: no order of steps rounds.
ir::Value* reduced_at_once(const Site& s) {
  const bool chooses = s.node().op_type() == "ReduceMax" || s.node().op_type() == "ReduceMin";
  if (!chooses && !ir::is_integer(s.out().dtype)) return nullptr;
  const ir::Node* inner = s.made_by(0, s.node().op_type());
  if (!inner || !s.is_only_reader_of(s.input(0)) || keeps_axes(*inner) != keeps_axes(s.node())) return nullptr;
  const int rank = s.fact(inner->input(0)).rank();
  const auto first = sorted_axes(s, *inner, rank), second = sorted_axes(s, s.node(), s.in(0).rank());
  if (!first || !second) return nullptr;
  std::vector<int64_t> all = *first;
  if (keeps_axes(s.node())) {
    all.insert(all.end(), second->begin(), second->end());
  } else {
    std::vector<int64_t> kept;
    for (int64_t axis = 0; axis < rank; ++axis)
      if (std::ranges::find(*first, axis) == first->end()) kept.push_back(axis);
    for (const int64_t axis : *second) all.push_back(kept[static_cast<size_t>(axis)]);
  }
  std::ranges::sort(all);
  if (std::ranges::adjacent_find(all) != all.end()) return nullptr;
  return s.at().reduce(s.node().op_type(), inner->input(0), all, keeps_axes(s.node()));
}

// A stretch of a shape is a Shape from one axis to another.
ir::Value* shape_of_stretch(const Site& s) {
  const ir::Node* shape = s.made_by(0, "Shape");
  if (!shape || !s.is_only_reader_of(s.input(0)) || s.opset() < 15) return nullptr;
  if (shape->attribute("start") || shape->attribute("end") || s.input(4)) return nullptr;
  const auto starts = s.integers(1, "starts"), ends = s.integers(2, "ends");
  const int rank = s.fact(shape->input(0)).rank();
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || rank < 0) return nullptr;
  const auto from_front = [&](int64_t place) { return std::clamp<int64_t>(place < 0 ? place + rank : place, 0, rank); };
  const int64_t start = from_front(starts->front()), end = from_front(ends->front());
  if (start >= end) return nullptr;
  return s.at().emit("Shape", {shape->input(0)}, {{"start", start}, {"end", end}});
}

// 1 where it holds and 0 elsewhere is the condition in another type.
ir::Value* condition_as_number(const Site& s) {
  if (!s.in(0).is_tensor() || !have_same_shape(s.in(0), s.out())) return nullptr;
  const auto yes = s.number(s.input(1)), no = s.number(s.input(2));
  if (!yes || !no || *no != 0 || std::signbit(*no) || *yes != 1) return nullptr;
  const ir::DataType type = s.out().dtype;
  if (type == ir::DataType::kBool) return s.input(0);
  return ir::is_floating(type) || ir::is_integer(type) ? s.at().cast(s.input(0), type) : nullptr;
}

const Simplification kReducing[] = {
    {"keep or drop axes in the reduction", {"Unsqueeze", "Squeeze"}, reduced_the_other_way},
    {"reduce at once", {"ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"}, reduced_at_once},
    {"ask for a part of a shape", {"Slice"}, shape_of_stretch},
    {"a condition as a number", {"Where"}, condition_as_number},
};

}  // namespace

std::span<const Simplification> merged_reductions() { return kReducing; }

}  // namespace thaw::optimizing
