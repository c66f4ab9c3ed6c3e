// Slice: parts of a tensor along axes.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "thaw/ops/onnx/given_axes.h"
#include "thaw/ops/onnx/slice_size.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/axis_select.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

using Dims = std::vector<Dim>;

// starts, ends, axes and steps of a Slice; attributes in opset 1, inputs since 10.
struct SliceArguments {
  std::optional<Dims> starts, ends, axes, steps;
  bool has_axes = false;
  // How many axes are sliced, when something tells.
  std::optional<size_t> count() const {
    for (const auto* list : {&starts, &ends, &axes, &steps})
      if (*list) return (*list)->size();
    return std::nullopt;
  }
};

// Before any axis, as INT64_MIN is, which no Dim holds.
constexpr int64_t kBeginning = -INT64_MAX;

std::optional<Dims> attr_dims(Context& ctx, std::string_view name) {
  auto values = ctx.attr_ints(name);
  if (!values) return std::nullopt;
  for (int64_t& v : *values) v = std::max(v, kBeginning);
  return Dims(values->begin(), values->end());
}

// Bounds or steps that are fed, with INT64_MIN as the lowest number that a Dim holds.
std::optional<Dims> fed_dims(Context& ctx, int input) {
  auto dims = ctx.dims_from(input);
  const Elements* elements = dims ? ctx.elements(input) : nullptr;
  if (!elements) return dims;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i].is_known()) continue;
    const auto number = (*elements)[i].as_double();
    if (number && *number <= static_cast<double>(INT64_MIN)) (*dims)[i] = kBeginning;
  }
  return dims;
}

SliceArguments slice_arguments(Context& ctx) {
  SliceArguments a;
  if (ctx.opset() < 10 && !ctx.has_input(1)) {
    a.starts = attr_dims(ctx, "starts");
    a.ends = attr_dims(ctx, "ends");
    a.axes = attr_dims(ctx, "axes");
    a.has_axes = a.axes.has_value();
  } else {
    a.starts = fed_dims(ctx, 1);
    a.ends = fed_dims(ctx, 2);
    a.has_axes = ctx.has_input(3);
    if (a.has_axes) a.axes = ctx.dims_from(3);
    if (ctx.has_input(4)) a.steps = fed_dims(ctx, 4);
  }
  auto n = a.count();
  if (!n) return a;
  if (!ctx.has_input(4)) a.steps.emplace(*n, Dim(1));
  if (!a.has_axes) {
    a.axes.emplace();
    for (size_t i = 0; i < *n; ++i) a.axes->push_back(static_cast<int64_t>(i));
  }
  // An argument of unknown length has as many entries as the others.
  for (auto* list : {&a.starts, &a.ends, &a.axes, &a.steps})
    if (!*list) list->emplace(*n);
  return a;
}

// The elements that a Slice with these constant arguments takes.
void slice_elements(Context& ctx, const SliceArguments& a, std::span<const int> axes) {
  auto small = small_input(ctx, 0);
  if (!small) return;
  size_t rank = small->shape.size();
  std::vector<int64_t> first(rank, 0), step(rank, 1);
  ConstantShape out = small->shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t n = small->shape[axes[i]];
    auto start = (*a.starts)[i].constant(), end = (*a.ends)[i].constant(), by = (*a.steps)[i].constant();
    if (!start || !end || !by || *by == 0) return;
    auto size = slice_size(n, *start, *end, *by).constant();
    if (!size) return;
    int64_t from = *start < 0 ? *start + n : *start;
    from = *by > 0 ? std::clamp<int64_t>(from, 0, n) : std::clamp<int64_t>(from, 0, std::max<int64_t>(n - 1, 0));
    first[axes[i]] = from;
    step[axes[i]] = *by;
    out[axes[i]] = *size;
  }
  auto strides = strides_of(small->shape);
  auto elements = build_elements(out, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t k = 0; k < rank; ++k) offset += (first[k] + index[k] * step[k]) * strides[k];
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

// Axes that the run names: axis d is sliced by argument i where axes[i] is d.
Shape slice_runtime_axes(const Shape& in, const SliceArguments& a) {
  int64_t rank = static_cast<int64_t>(in.size());
  Shape out = in;
  for (int64_t d = 0; d < rank; ++d) {
    for (size_t i = 0; i < a.axes->size(); ++i) {
      Dim size = slice_size(in[d], (*a.starts)[i], (*a.ends)[i], (*a.steps)[i]);
      out[d] = out[d] + is_equal(wrapped_axis((*a.axes)[i], static_cast<int>(rank)), d) * (size - in[d]);
    }
  }
  return out;
}

void slice(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    const Fact& list = ctx.input(i);
    if (!list.has_rank() || list.rank() == 1) continue;
    ctx.invalid("a Slice's starts, ends, axes and steps are lists, and operand " + std::to_string(i) + " is of rank " +
                std::to_string(list.rank()));
    return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  }
  SliceArguments a = slice_arguments(ctx);
  auto count = a.count();
  if (!count) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  for (const auto* list : {&a.starts, &a.ends, &a.axes, &a.steps}) {
    if ((*list)->size() == *count) continue;
    ctx.invalid("a Slice's starts, ends, axes and steps differ in length");
    return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  }
  if (*count > static_cast<size_t>(rank)) {
    ctx.invalid("a Slice names " + std::to_string(*count) + " axes of a tensor of rank " + std::to_string(rank));
    return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  }
  std::vector<int64_t> values;
  for (Dim axis : *a.axes)
    if (auto v = axis.constant()) values.push_back(*v);
  if (values.size() < *count)
    return ctx.set_tensor(0, data.dtype,
                          rank <= kMaxFedRank ? slice_runtime_axes(*data.shape, a) : unknown_shape(rank));
  auto axes = normalize_axes(ctx, values, rank);
  if (!axes) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  Shape out = *data.shape;
  for (size_t i = 0; i < *count; ++i) {
    if ((*a.steps)[i].is_constant(0)) ctx.invalid("a Slice's step is 0");
    Dim& size = out[(*axes)[i]];
    size = slice_size(size, (*a.starts)[i], (*a.ends)[i], (*a.steps)[i]);
  }
  ctx.set_tensor(0, data.dtype, std::move(out));
  slice_elements(ctx, a, *axes);
}

// Where it begins and ends may be anything.
void needs_of_slice(Context& ctx) {
  need_axis(ctx, 3, ctx.input(0).rank(), "an axis of a Slice");
  if (!ctx.ints(4)) need_nonzero(ctx, 4, "a step of a Slice that is not 0");
}

// Axes that are not cut stay apart, and those that are cut to all that they have.
std::optional<AxesMap> slice_axes(NodeView& view) {
  const Fact &in = view.input(0), &out = view.output(0);
  if (!in.has_rank()) return std::nullopt;
  const bool by_attributes = view.opset() < 10 && !view.has_input(1);
  std::optional<std::vector<int64_t>> axes = given_axes(view, 3), starts, steps;
  if (!axes && view.has_input(3)) return std::nullopt;
  starts = by_attributes ? view.attr_ints("starts") : view.ints(1);
  if (view.has_input(4)) steps = view.ints(4);
  if (!axes) {
    const auto count = by_attributes               ? std::optional(static_cast<int64_t>(starts ? starts->size() : 0))
                       : view.input(1).rank() == 1 ? view.input(1).dim(0).constant()
                                                   : std::nullopt;
    if (!count) return std::nullopt;
    axes.emplace(static_cast<size_t>(*count));
    std::iota(axes->begin(), axes->end(), 0);
  }
  std::vector<int> cut;
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<int>((*axes)[i] < 0 ? (*axes)[i] + in.rank() : (*axes)[i]);
    if (axis < 0 || axis >= in.rank()) return std::nullopt;
    const bool is_whole = out.rank() == in.rank() && dim::same(in.dim(axis), out.dim(axis)) && starts &&
                          i < starts->size() && (*starts)[i] == 0 &&
                          (!view.has_input(4) || (steps && i < steps->size() && (*steps)[i] == 1));
    if (!is_whole) cut.push_back(axis);
  }
  AxesMap map;
  map.keep_in_place(in.rank(), cut);
  for (const int axis : cut) map.mix({{0, axis}}, {{0, axis}});
  return map;
}

void batch_slice(BatchContext& n) {
  for (int i = 1; i < n.num_inputs(); ++i) n.require_same_for_all(i, "range");
  const bool by_attributes = n.opset() < 10;
  if (!by_attributes && keep_on_computed_axes(n, 3)) return;
  std::vector<int64_t> axes;
  if (const auto given = axes_given(n, 3)) {
    axes = *given;
  } else {
    const auto count = by_attributes            ? static_cast<int64_t>(n.node().attribute_ints("starts").size())
                       : n.input(1).rank() == 1 ? n.input(1).dim(0).constant()
                                                : std::nullopt;
    if (!count) BatchContext::refuse("how many axes it cuts is not known");
    axes.resize(static_cast<size_t>(*count));
    std::iota(axes.begin(), axes.end(), 0);
  }
  const int rank = n.rank(0);
  const bool first =
      std::any_of(axes.begin(), axes.end(), [&](int64_t a) { return BatchContext::positive(a, rank) == 0; });
  if (n.is_merged(0) && !first) {
    return n.keep_on(Form::kMerged);
  }
  for (int64_t& axis : axes) axis = BatchContext::positive(axis, rank) + 1;
  // All of them are of one type.
  const bool is_narrow = n.input(1).dtype == ir::DataType::kInt32;
  n.set_operand(0, n.leading(0));
  if (by_attributes) {
    n.set_attribute({"axes", axes});
  } else {
    n.set_operand(3, is_narrow ? n.cast(n.list(axes), ir::DataType::kInt32) : n.list(axes));
  }
  n.note_change();
  n.keep(Form::kLeading);
}

// The one position that a Slice with constant bounds takes of an axis; nullopt where it takes another number of them.
std::optional<int64_t> only_position(const ir::Node& slice, int rank, int axis) {
  const auto list = [&](int input) -> std::optional<std::vector<int64_t>> {
    const ir::Tensor* constant = slice.input(input) ? slice.input(input)->constant() : nullptr;
    if (!constant || !ir::is_integer(constant->data_type) || constant->num_elements() > kMaxElements)
      return std::nullopt;
    return constant->to_int64();
  };
  const auto starts = list(1), ends = list(2), axes = list(3);
  if (!starts || !ends || starts->size() != ends->size() || (slice.input(3) && !axes)) return std::nullopt;
  for (size_t k = 0; k < ends->size(); ++k) {
    int64_t at = axes ? (k < axes->size() ? (*axes)[k] : rank) : static_cast<int64_t>(k);
    if (at < 0) at += rank;
    if (at == axis && (*starts)[k] >= 0 && (*ends)[k] > 0 && (*starts)[k] == (*ends)[k] - 1) return (*starts)[k];
  }
  return std::nullopt;
}

// Whether slices take every position of an axis apart, one by one: the states of the layers of a network, say, of which
// there cannot be more.
bool decomposes(const ir::Node& slice, int rank, int axis, int64_t size) {
  const auto uses = slice.input(0)->uses();
  constexpr size_t kMostUses = 1024;
  if (only_position(slice, rank, axis) != size - 1 || uses.size() > kMostUses || size > std::ssize(uses)) return false;
  std::vector<bool> taken(static_cast<size_t>(size));
  for (const ir::Use& use : uses) {
    if (use.index != 0 || use.node->op_type() != slice.op_type()) continue;
    const auto position = only_position(*use.node, rank, axis);
    if (position && *position < static_cast<int64_t>(taken.size())) taken[static_cast<size_t>(*position)] = true;
  }
  return std::ranges::all_of(taken, [](bool is_taken) { return is_taken; });
}

// Positions that constants cut out of an axis, where they are not all of it.
void pick_positions(FrozenContext& ctx, Dim size, std::optional<int64_t> first, std::optional<int64_t> last) {
  const auto now = size.is_symbolic() ? dim::evaluate(size, ctx.assumed_sizes()) : std::nullopt;
  if (!now || !first || !last) return;
  const auto placed = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + *now : at, 0, *now); };
  const int64_t from = placed(*first), to = placed(*last);
  if (from < to && to - from < *now) ctx.pick(size, from, to);
}

// Constant ends that cut an axis sized by the inputs.
void frozen_slice(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  auto starts = ctx.followed(1), ends = ctx.followed(2);
  if (!data.shape || !starts || !ends || starts->size() != ends->size()) return;
  auto axes = ctx.followed(3), steps = ctx.followed(4);
  std::optional<Shape> out = ctx.output(0).shape;
  for (size_t k = 0; k < ends->size(); ++k) {
    int64_t axis = static_cast<int64_t>(k);
    if (ctx.has_input(3)) {
      if (!axes || k >= axes->size() || !(*axes)[k].is_constant()) return;
      axis = *(*axes)[k].constant();
      if (axis < 0) axis += data.rank();
    }
    if (axis < 0 || axis >= data.rank()) return;
    bool plain_step = !ctx.has_input(4) || (steps && k < steps->size() && (*steps)[k].is_constant(1));
    Dim size = data.dim(static_cast<int>(axis));
    auto end = (*ends)[k].constant();
    if (plain_step) pick_positions(ctx, size, (*starts)[k].constant(), end);
    if (auto rows = size.constant(); rows && (*ends)[k].is_symbolic()) {
      // Something of constant size cut to a computed one: frozen when that is all of it. Where the beginning is computed
      // too, it is a table that positions are looked up in, which may be as long as it likes.
      if (!(*starts)[k].is_constant() || dim::evaluate((*ends)[k], ctx.assumed_sizes()) != *rows) continue;
      Meeting m;
      m.input = 0;
      m.element = static_cast<int>(axis);
      m.value = *rows;
      m.expression = (*ends)[k];
      m.silent = true;
      ctx.meet(m);
      continue;
    }
    if (!size.is_symbolic() || !end || *end <= 1 || *end > (int64_t{1} << 31) - 2 || !plain_step) continue;
    auto assumed = dim::evaluate(size, ctx.assumed_sizes());
    if (assumed == *end && decomposes(ctx.node(), data.rank(), static_cast<int>(axis), *end)) continue;
    // Cut back to a size that the axis was padded from.
    if (!assumed || *assumed != *end) {
      for (int id : dim::symbols_of(size)) {
        auto value = ctx.assumed_sizes().find(id);
        if (value == ctx.assumed_sizes().end() || value->second != *end) continue;
        size = dim::scope_of(size)->symbol_at(id);
        assumed = end;
        break;
      }
    }
    Meeting m;
    m.input = 2;
    m.element = static_cast<int>(k);
    m.value = *end;
    m.expression = size;
    m.is_shape = m.silent = true;
    m.weak = !assumed || *assumed != *end;
    if (!assumed && (*starts)[k].is_constant(0)) ctx.suspect(size, *end);
    if (!m.weak && (*starts)[k].is_constant(0) && out && axis < ctx.output(0).rank()) {
      (*out)[static_cast<size_t>(axis)] = size;
      ctx.set_shape(0, *out);
    }
    ctx.meet(m);
  }
}

// An end at the frozen size is the end of the axis.
std::optional<std::vector<Dim>> slice_sizes(ThawedView& view, int operand) {
  const Fact& in = view.input(0);
  const auto ends = view.ints(2);
  const auto axes = given_axes(view, 3);
  if (operand != 2 || !in.shape || !ends || (view.has_input(3) && !axes)) return std::nullopt;
  std::vector<Dim> sizes(ends->size());
  for (size_t k = 0; k < ends->size(); ++k) {
    int64_t axis = axes ? (k < axes->size() ? (*axes)[k] : in.rank()) : static_cast<int64_t>(k);
    if (axis < 0) axis += in.rank();
    if (axis < 0 || axis >= in.rank()) return std::nullopt;
    const Dim size = in.dim(static_cast<int>(axis));
    if (size.is_symbolic() && dim::evaluate(size, view.assumed_sizes()) == (*ends)[k]) sizes[k] = INT64_MAX;
  }
  return sizes;
}

}  // namespace

void add_slice_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Slice",
         .shape = slice,
         .op_class = OpClass::kMovement,
         .needs = needs_of_slice,
         .range = range_moved,
         .operands = {kData, kBounds, kBounds, kAxes, kSteps},
         .attributes = {{.name = "starts", .role = kBounds},
                        {.name = "ends", .role = kBounds},
                        {.name = "axes", .role = kAxes}},
         .axes = axes_by(slice_axes),
         .batch = batch_with(batch_slice),
         .frozen = frozen_slice,
         .sizes = slice_sizes,
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
