// Reductions with the reshaping after them, reductions of reductions, stretches of shapes, and conditions as numbers.
#include <algorithm>
#include <cmath>

#include "thaw/optimize/passes.h"

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
  const auto from_front = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  const int64_t start = from_front(starts->front()), end = from_front(ends->front());
  if (start >= end) return nullptr;
  return s.at().emit("Shape", {shape->input(0)}, {{"start", start}, {"end", end}});
}

// How many of the first positions of a shape are read, by constant positions from its front; nullopt where others may be.
std::optional<int64_t> positions_read(const Site& s) {
  const ir::Node& shape = s.node();
  if (shape.attribute("end")) {
    const int64_t start = shape.attribute_int("start", 0), end = shape.attribute_int("end", 0);
    return start >= 0 && end > start ? std::optional(end) : std::nullopt;
  }
  if (shape.attribute("start") || s.output()->is_output() || s.output()->uses().empty()) return std::nullopt;
  int64_t most = 0;
  for (const ir::Use& use : s.output()->uses()) {
    const bool slices = use.node->domain().empty() && use.node->op_type() == "Slice";
    const bool picks = use.node->domain().empty() && use.node->op_type() == "Gather";
    if ((!slices && !picks) || use.index != 0 || use.node->attribute_int("axis", 0) != 0) return std::nullopt;
    auto positions = s.integers(*use.node, 1, "starts");
    const auto ends = slices ? s.integers(*use.node, 2, "ends") : positions;
    if (!positions || !ends || ends->size() != (slices ? 1 : positions->size())) return std::nullopt;
    positions->insert(positions->end(), ends->begin(), ends->end());
    if (std::ranges::any_of(*positions, [](int64_t position) { return position < 0; })) return std::nullopt;
    if (positions->empty()) return std::nullopt;
    most = std::max(most, std::ranges::max(*positions) + (slices ? 0 : 1));
  }
  return most;
}

// The product of two computed tensors that a value is, but for some steps that keep its shape; null where there is none.
const ir::Node* product_before(const Site& s, const ir::Value* value) {
  constexpr int kMostSteps = 8;
  for (int step = 0; step < kMostSteps; ++step) {
    const ir::Node* node = value->producer();
    if (!node) return nullptr;
    if (producer_of(value, "MatMul"))
      return !node->input(0)->constant() && !node->input(1)->constant() ? node : nullptr;
    const auto same = std::ranges::find_if(node->inputs(), [&](const ir::Value* input) {
      return input && !input->constant() && have_same_shape(s.fact(input), s.fact(value));
    });
    if (same == node->inputs().end()) return nullptr;
    value = *same;
  }
  return nullptr;
}

// Batches, heads and queries are those of the queries, so that the scores need not be kept to tell them.
ir::Value* shape_of_queries(const Site& s) {
  if (is_read_once(*s.input(0))) return nullptr;
  const auto positions = positions_read(s);
  const ir::Node* product = positions ? product_before(s, s.input(0)) : nullptr;
  if (!product) return nullptr;
  ir::Value* queries = product->input(0);
  if (s.fact(queries).rank() != s.in(0).rank() || *positions > s.in(0).rank()) return nullptr;
  for (int position = 0; position < *positions; ++position)
    if (!dim::same(s.fact(queries).dim(position), s.in(0).dim(position))) return nullptr;
  ops::Attributes attributes;
  for (const char* name : {"start", "end"})
    if (s.node().attribute(name)) attributes.push_back({name, s.node().attribute_int(name, 0)});
  return s.at().emit("Shape", {queries}, std::move(attributes));
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
    {"ask the queries for the sizes of scores", {"Shape"}, shape_of_queries},
    {"a condition as a number", {"Where"}, condition_as_number},
};

}  // namespace

std::span<const Simplification> merged_reductions() { return kReducing; }

}  // namespace thaw::optimizing
