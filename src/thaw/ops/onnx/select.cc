// Operators whose output depends on which elements qualify: NonZero, Unique, Compress, TopK, OneHot, NonMaxSuppression,
// Trilu.
#include <algorithm>
#include <map>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

bool nonzero_values(Context& ctx, const SmallTensor& data) {
  std::vector<std::vector<int64_t>> found;
  bool known = true;
  auto strides = strides_of(data.shape);
  for_each_index(data.shape, [&](const std::vector<int64_t>& at) {
    auto v = data.at(offset_of(at, strides)).as_double();
    if (!v)
      known = false;
    else if (*v != 0)
      found.push_back(at);
  });
  if (!known) return false;
  auto rank = static_cast<int64_t>(data.shape.size()), count = static_cast<int64_t>(found.size());
  ctx.set_tensor(0, DataType::kInt64, Shape{rank, count});
  if (rank * count > kMaxElements) return true;
  Elements elements;
  for (int64_t k = 0; k < rank; ++k)
    for (const auto& at : found) elements.push_back(Element::integer(at[static_cast<size_t>(k)]));
  ctx.set_elements(0, std::move(elements));
  return true;
}

void nonzero(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (data.rank() > 0) {
    auto small = small_input(ctx, 0);
    if (small && nonzero_values(ctx, *small)) return;
  }
  Dim count = data.num_elements().is_constant(0) ? Dim(int64_t{0}) : ctx.data_dependent(0, 1);
  // For a scalar the specification and the runtimes differ about the number of rows.
  Dim rows = data.rank() > 0 ? Dim(data.rank()) : Dim();
  ctx.set_tensor(0, DataType::kInt64, Shape{rows, count});
}

// Unique over all elements, every one a known integer.
bool unique_values(Context& ctx) {
  auto data = small_input(ctx, 0);
  if (!data) return false;
  struct Entry {
    int64_t value, first, count;
  };
  std::vector<Entry> entries;
  std::map<int64_t, size_t> seen;
  std::vector<int64_t> which;
  for (size_t i = 0; i < data->elements->size(); ++i) {
    auto v = (*data->elements)[i].as_int();
    if (!v) return false;
    auto [it, fresh] = seen.emplace(*v, entries.size());
    if (fresh) entries.push_back({*v, static_cast<int64_t>(i), 0});
    ++entries[it->second].count;
    which.push_back(*v);
  }
  if (ctx.attr_int("sorted", 1) != 0)
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  Elements values, firsts, inverse, counts;
  for (size_t k = 0; k < entries.size(); ++k) {
    seen[entries[k].value] = k;
    values.push_back(Element::integer(entries[k].value));
    firsts.push_back(Element::integer(entries[k].first));
    counts.push_back(Element::integer(entries[k].count));
  }
  for (int64_t v : which) inverse.push_back(Element::integer(static_cast<int64_t>(seen[v])));
  Shape count{static_cast<int64_t>(entries.size())};
  ctx.set_tensor(0, ctx.input(0).dtype, count);
  ctx.set_elements(0, std::move(values));
  ctx.set_tensor(1, DataType::kInt64, count);
  ctx.set_elements(1, std::move(firsts));
  ctx.set_tensor(2, DataType::kInt64, Shape{static_cast<int64_t>(which.size())});
  ctx.set_elements(2, std::move(inverse));
  ctx.set_tensor(3, DataType::kInt64, count);
  ctx.set_elements(3, std::move(counts));
  return true;
}

void unique(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto attr = ctx.attr_int("axis");
  std::optional<Shape> values;
  Dim length = data.num_elements(), count;
  // One slice, or none, is unique by itself.
  auto unique_count = [&](int axis) {
    return length.is_constant(0) || length.is_constant(1) ? length : ctx.data_dependent(0, axis);
  };
  if (!attr) {
    if (unique_values(ctx)) return;
    count = unique_count(0);
    values = Shape{count};
  } else if (data.has_rank()) {
    auto axis = normalize_axis(ctx, *attr, data.rank());
    if (axis) {
      length = data.dim(*axis);
      count = unique_count(*axis);
      values = data.shape;
      (*values)[*axis] = count;
    }
  } else {
    length = Dim();
  }
  ctx.set_tensor(0, data.dtype, values);
  ctx.set_tensor(1, DataType::kInt64, Shape{count});
  ctx.set_tensor(2, DataType::kInt64, Shape{length});
  ctx.set_tensor(3, DataType::kInt64, Shape{count});
}

// Which slices a known condition keeps; nullopt when some entry is not known.
std::optional<std::vector<int64_t>> kept_slices(Context& ctx) {
  const Elements* condition = ctx.elements(1);
  if (!condition) return std::nullopt;
  std::vector<int64_t> kept;
  for (size_t i = 0; i < condition->size(); ++i) {
    auto v = (*condition)[i].as_int();
    if (!v) return std::nullopt;
    if (*v != 0) kept.push_back(static_cast<int64_t>(i));
  }
  return kept;
}

void compress(Context& ctx) {
  const Fact& data = ctx.input(0);
  auto attr = ctx.attr_int("axis");
  if (attr && !data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  auto axis = attr ? normalize_axis(ctx, *attr, data.rank()) : std::optional<int>(0);
  if (!axis) return unknown_tensor(ctx, 0, data.dtype);
  Shape out = attr ? *data.shape : Shape{data.num_elements()};
  Dim length = out[*axis];
  auto kept = kept_slices(ctx);
  if (!kept) {
    out[*axis] = length.is_constant(0) ? length : ctx.data_dependent(0, *axis);
    return ctx.set_tensor(0, data.dtype, std::move(out));
  }
  constexpr std::string_view kWhat = "a Compress's condition and its axis";
  // ONNX Runtime passes over what a condition says beyond the axis.
  if (!kept->empty() && ctx.wants_values())
    ctx.require_of_values(kept->back() + 1, length, kWhat, 1, true);
  else if (!kept->empty())
    ctx.require_at_most(kept->back() + 1, length, kWhat);
  out[*axis] = static_cast<int64_t>(kept->size());
  auto constant = constant_shape(out);
  ctx.set_tensor(0, data.dtype, std::move(out));
  auto small = constant ? small_input(ctx, 0) : std::nullopt;
  if (!small) return;
  ConstantShape in = attr ? small->shape : ConstantShape{static_cast<int64_t>(small->elements->size())};
  if (!kept->empty() && kept->back() >= in[*axis]) return;  // cannot run
  auto strides = strides_of(in);
  auto elements = build_elements(*constant, [&](const std::vector<int64_t>& at) {
    return small->at(offset_of(at, strides) + ((*kept)[static_cast<size_t>(at[*axis])] - at[*axis]) * strides[*axis]);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void top_k(Context& ctx) {
  const Fact& data = ctx.input(0);
  Dim k;
  if (ctx.opset() < 10) {
    if (auto attr = ctx.attr_int("k")) k = *attr;
  } else if (auto given = ctx.dims_from(1); given && given->size() == 1) {
    k = given->front();
  }
  std::optional<Shape> out = data.shape;
  if (out) {
    auto axis = normalize_axis(ctx, ctx.attr_int("axis", -1), data.rank());
    if (axis) {
      ctx.require_at_most(k, data.dim(*axis), "a TopK's k and its axis", {1, -1}, {0, *axis});
      (*out)[*axis] = k;
    } else {
      out.reset();
    }
  }
  ctx.set_tensor(0, data.dtype, out);
  ctx.set_tensor(1, DataType::kInt64, out);
}

void one_hot(Context& ctx) {
  const Fact& indices = ctx.input(0);
  DataType dtype = ctx.input(2).dtype;
  if (!indices.has_rank()) return unknown_tensor(ctx, 0, dtype);
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", -1), indices.rank() + 1);
  if (!axis) return unknown_tensor(ctx, 0, dtype);
  const Elements* depth = ctx.elements(1);
  Dim classes = depth && depth->size() == 1 ? truncate(depth->front()).as_dim() : Dim();
  Shape out = *indices.shape;
  out.insert(out.begin() + *axis, classes);
  auto constant = constant_shape(out);
  ctx.set_tensor(0, dtype, std::move(out));
  auto which = constant ? small_input(ctx, 0) : std::nullopt;
  const Elements* values = which ? ctx.elements(2) : nullptr;
  if (!values || values->size() != 2) return;
  auto strides = strides_of(which->shape);
  auto elements = build_elements(*constant, [&](const std::vector<int64_t>& at) {
    int64_t offset = 0;
    for (size_t k = 0, s = 0; k < at.size(); ++k)
      if (static_cast<int>(k) != *axis) offset += at[k] * strides[s++];
    auto v = which->at(offset).as_int();
    if (!v) return Element();
    int64_t count = (*constant)[static_cast<size_t>(*axis)], hot = *v < 0 ? *v + count : *v;
    return (*values)[hot == at[static_cast<size_t>(*axis)] ? 1 : 0];
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

void non_max_suppression(Context& ctx) {
  const Fact& boxes = ctx.input(0);
  const Fact& scores = ctx.input(1);
  if (boxes.rank() == 3 && scores.rank() == 3) {
    ctx.require_equal(boxes.dim(0), scores.dim(0), "batch of a NonMaxSuppression's boxes and scores", {0, 0}, {1, 0});
    ctx.require_equal(boxes.dim(1), scores.dim(2), "a NonMaxSuppression's boxes and scores", {0, 1}, {1, 2});
  }
  require_axis(ctx, 0, 3, 2, 4, "numbers of a NonMaxSuppression's box");
  // Without a limit, or with a limit of 0, nothing is selected.
  bool none = !ctx.has_input(2) || ctx.number(2) == 0.0;
  ctx.set_tensor(0, DataType::kInt64, Shape{none ? Dim(int64_t{0}) : ctx.data_dependent(0, 0), 3});
}

void trilu(Context& ctx) {
  same_as_input(ctx, 0, 0);
  const Fact& data = ctx.input(0);
  if (data.has_rank() && data.rank() < 2)
    return ctx.invalid("a Trilu of a tensor of rank " + std::to_string(data.rank()));
  auto small = small_input(ctx, 0);
  if (!small) return;
  int64_t k = 0;
  if (ctx.has_input(1)) {
    auto given = ctx.ints(1);
    if (!given || given->size() != 1) return;
    k = std::clamp<int64_t>(given->front(), -kMaxElements, kMaxElements);
  }
  bool upper = ctx.attr_int("upper", 1) != 0;
  size_t rank = small->shape.size();
  auto strides = strides_of(small->shape);
  auto elements = build_elements(small->shape, [&](const std::vector<int64_t>& at) {
    int64_t diagonal = at[rank - 1] - at[rank - 2];
    bool kept = upper ? diagonal >= k : diagonal <= k;
    return kept ? small->at(offset_of(at, strides)) : Element::integer(0);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

std::optional<AxesMap> compress_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  const auto given = view.attr_int("axis");
  if (!given || rank < 1) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(*given, rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1));
  map.mix({{0, axis}}, {{0, axis}});
  return map;
}

std::optional<AxesMap> top_k_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 1) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", -1), rank));
  AxesMap map;
  map.keep_in_place(rank, std::span(&axis, 1), 1, 2);
  map.mix({{0, axis}}, {{0, axis}, {1, axis}});
  return map;
}

// A new axis, of as many as there are classes.
std::optional<AxesMap> one_hot_axes(NodeView& view) {
  const int rank = view.input(0).rank();
  if (rank < 0) return std::nullopt;
  const auto axis = static_cast<int>(BatchContext::positive(view.attr_int("axis", -1), rank + 1));
  AxesMap map;
  for (int k = 0; k < rank; ++k) map.keep({{0, k}}, {{0, k < axis ? k : k + 1}});
  map.add_new({{0, axis}});
  return map;
}

void batch_one_hot(BatchContext& n) {
  n.require_same_for_all(1, "depth");
  const int rank = n.rank(0) + 1;
  const int64_t axis = BatchContext::positive(n.attr_int("axis", -1), rank);
  if (!n.is_batched(2) && n.is_merged(0) && axis != 0) return n.keep_on(Form::kMerged);
  const bool own_indices = n.is_batched(0);
  if (own_indices) {
    n.set_operand(0, n.leading(0));
    n.set_attribute({"axis", axis + 1});
  }
  n.note_change();
  if (!n.is_batched(2)) return n.keep(Form::kLeading);
  // Where it is hot, from the two values that each sample has.
  std::vector<int64_t> axes;
  for (int64_t k = 1; k <= rank; ++k) axes.push_back(k);
  ir::Value* values = n.leading(2);
  const auto value = [&](int64_t k) {
    return n.unsqueeze(n.emit("Gather", {values, n.integer(k)}, {{"axis", int64_t{1}}}), axes);
  };
  ir::Value *off = value(0), *on = value(1);
  n.set_operand(2, n.list({0, 1}));
  const BatchEmit after = n.after();
  ir::Value* hot = after.cast(n.node().output(0), ir::DataType::kBool);
  if (!own_indices) hot = after.unsqueeze(hot, {0});
  n.become(0, after.emit("Where", {hot, on, off}), Form::kLeading);
}

void needs_of_top_k(Context& ctx) {
  if (ctx.opset() >= 10) need_at_least(ctx, 1, 0, "a TopK's k");
}

void needs_of_one_hot(Context& ctx) {
  const Elements* depth = ctx.elements(1);
  const Dim classes = depth && depth->size() == 1 ? truncate(depth->front()).as_dim() : Dim();
  ctx.require_of_values(1, classes, "the classes of a OneHot", 1, classes.is_unknown());
}

void needs_of_suppression(Context& ctx) {
  if (!ctx.has_input(3)) return;
  const auto threshold = ctx.number(3);
  if (!threshold || !(*threshold >= 0 && *threshold <= 1))
    ctx.leave_open("a threshold of a NonMaxSuppression from 0 to 1", 3);
}

// Positions along an axis each.
void range_of_positions(Context& ctx) {
  const Fact& data = ctx.input(0);
  Dim longest = data.has_rank() ? Dim(1) : Dim();
  for (int k = 0; k < data.rank() && longest.is_known(); ++k)
    longest = data.dim(k).is_unknown() ? Dim() : dim::max(longest, data.dim(k));
  ctx.set_range(0, {Dim(int64_t{0}), longest - 1, false});
}

void batch_compress(BatchContext& n) {
  if (n.is_batched(1))
    BatchContext::refuse("what it keeps differs from sample to sample, so that results differ in size");
  const ir::Attribute* axis = n.node().attribute("axis");
  n.set_operand(0, axis ? n.leading(0) : n.reshape(n.leading(0), n.list({0, -1})));
  n.set_attribute({"axis", axis ? BatchContext::shifted(*axis->as<int64_t>()) : int64_t{1}});
  n.note_change();
  n.keep(Form::kLeading);
}

}  // namespace

void add_select_ops(Registry& r) {
  using enum Role;
  r.add({.name = "NonZero",
         .shape = nonzero,
         .needs = needs_nothing,
         .range = range_of_positions,
         .axes = no_axes(kSizedByData)});
  r.add({.name = "Unique",
         .shape = unique,
         .needs = needs_nothing,
         .attributes = {{.name = "axis", .role = kAxes}},
         .axes = no_axes(kSizedByData),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "Compress",
         .shape = compress,
         .op_class = OpClass::kMovement,
         .range = range_moved,
         .operands = {kData, kCondition},
         .attributes = {{.name = "axis", .role = kAxes}},
         .axes = axes_by(compress_axes),
         .batch = batch_with(batch_compress),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "TopK",
         .shape = top_k,
         .needs = needs_of_top_k,
         .operands = {kData, kSize},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = -1}, {.name = "k", .role = kSize}},
         .axes = axes_by(top_k_axes),
         .batch = batch_with(batch_shifting_axes),
         .saturates = true});
  r.add({.name = "OneHot",
         .shape = one_hot,
         .needs = needs_of_one_hot,
         .operands = {kIndex, kSize, kData},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = -1}},
         .axes = axes_by(one_hot_axes),
         .batch = batch_with(batch_one_hot),
         .evaluation = Evaluation::kByRule});
  r.add({.name = "NonMaxSuppression",
         .shape = non_max_suppression,
         .needs = needs_of_suppression,
         .operands = {kRegion, kData, kSetting, kSetting, kSetting},
         .axes = no_axes(kSizedByData)});
  r.add({.name = "Trilu",
         .shape = trilu,
         .needs = needs_nothing,
         .operands = {kData, kSetting},
         .axes = axes_by("... i~ j~ -> ... i~ j~"),
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
