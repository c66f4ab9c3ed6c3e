// Pad.
#include "thaw/ops/onnx/pad.h"

#include <algorithm>
#include <string>

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

namespace thaw::ops {

using dim::Dim;

namespace {

constexpr int64_t kLargestPad = 1 << 20;  // of a small tensor whose elements are followed

// begins and ends of every axis; unknown entries where they are not known. nullopt when nothing is known, or it is
// wrong.
std::optional<std::vector<Dim>> pads_of(Context& ctx, int rank) {
  std::optional<std::vector<Dim>> pads;
  if (ctx.opset() >= 11) {
    pads = ctx.dims_from(1);
  } else if (auto attr = ctx.attr_ints(ctx.opset() < 2 ? "paddings" : "pads")) {
    pads.emplace(attr->begin(), attr->end());
  }
  if (!pads) return std::nullopt;
  if (!ctx.has_input(3)) {
    if (pads->size() == 2 * static_cast<size_t>(rank)) return pads;
    ctx.invalid(std::to_string(pads->size()) + " pads for a tensor of rank " + std::to_string(rank));
    return std::nullopt;
  }
  auto axes = ctx.dims_from(3);
  if (!axes) return std::nullopt;
  if (pads->size() != 2 * axes->size()) {
    ctx.invalid(std::to_string(pads->size()) + " pads for " + std::to_string(axes->size()) + " axes");
    return std::nullopt;
  }
  auto constant = ctx.ints(3);
  if (constant && !normalize_axes(ctx, *constant, rank)) return std::nullopt;
  if (!constant && rank > kMaxFedRank) return std::nullopt;
  std::vector<Dim> all(2 * static_cast<size_t>(rank), Dim(int64_t{0}));
  auto add = [&](size_t to, Dim pad) { all[to] = all[to] + pad; };
  for (size_t i = 0; i < axes->size(); ++i) {
    Dim begin = (*pads)[i], end = (*pads)[i + axes->size()], axis = wrapped_axis((*axes)[i], rank);
    if (auto k = axis.constant()) {
      add(static_cast<size_t>(*k), begin);
      add(static_cast<size_t>(*k + rank), end);
      continue;
    }
    // An axis that only the run names is each axis in turn, where it is equal to it.
    for (int k = 0; k < rank; ++k) {
      Dim here = is_equal(axis, k);
      add(static_cast<size_t>(k), select(here, begin, 0));
      add(static_cast<size_t>(k) + static_cast<size_t>(rank), select(here, end, 0));
    }
  }
  return all;
}

// Elements of a Pad with a constant.
void pad_elements(Context& ctx, const ConstantShape& out, std::span<const Dim> pads) {
  if (ctx.attr_string("mode", "constant") != "constant") return;
  auto small = small_input(ctx, 0);
  if (!small) return;
  Element fill = Element::integer(0);
  if (ctx.opset() >= 11) {
    if (ctx.has_input(2)) {
      const Elements* value = ctx.elements(2);
      fill = value && value->size() == 1 ? value->front() : Element();
    }
  } else {
    fill = Element::real(ctx.attr_float("value", 0));
  }
  size_t rank = out.size();
  auto strides = strides_of(small->shape);
  auto elements = build_elements(out, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t k = 0; k < rank; ++k) {
      int64_t at = index[k] - *pads[k].constant();
      if (at < 0 || at >= small->shape[k]) return fill;
      offset += at * strides[k];
    }
    return small->at(offset);
  });
  if (elements) ctx.set_elements(0, std::move(*elements));
}

// What is not filled with a constant is copied from what the negative pads leave of the axis. A mirror does not repeat the edge.
void require_something_to_copy(Context& ctx, std::span<const Dim> pads) {
  const std::string_view mode = ctx.attr_string("mode", "constant");
  if (mode == "constant") return;
  const Fact& data = ctx.input(0);
  const size_t rank = data.shape->size();
  for (size_t k = 0; k < rank; ++k) {
    const Dim begin = pads[k], end = pads[k + rank];
    if (begin.is_constant(0) && end.is_constant(0) && mode != "wrap") continue;
    const Dim kept = data.dim(static_cast<int>(k)) + dim::min(begin, 0) + dim::min(end, 0);
    const bool is_padded = !begin.is_symbolic() && !end.is_symbolic();
    ctx.require_of_values(1, kept, "what a Pad copies from the axis", 1, !is_padded);
    for (const Dim amount : {begin, end})
      if (mode == "reflect" && !at_most(amount, 0))
        ctx.require_of_values(amount + is_less(0, amount), kept, "what a Pad mirrors within the axis", 1, false);
  }
}

void pad(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, data.dtype);
  int rank = data.rank();
  auto pads = pads_of(ctx, rank);
  if (!pads) return ctx.set_tensor(0, data.dtype, unknown_shape(rank));
  Shape out(rank);
  for (int k = 0; k < rank; ++k) out[k] = data.dim(k) + (*pads)[k] + (*pads)[k + rank];
  if (ctx.attr_string("mode", "constant") == "reflect") {
    // The edge itself is not repeated, so that what is mirrored has to be there.
    for (int k = 0; k < rank; ++k)
      for (Dim amount : {(*pads)[k], (*pads)[k + rank]})
        if (!at_most(amount, 0))
          ctx.require_at_most(amount + is_less(0, amount), data.dim(k), "what a Pad mirrors within the axis", {},
                              {0, k});
  }
  if (ctx.wants_values()) require_something_to_copy(ctx, *pads);
  auto constant = constant_shape(out);
  bool known = std::all_of(pads->begin(), pads->end(), [](Dim d) {
    auto v = d.constant();
    return v && *v >= -kLargestPad && *v <= kLargestPad;
  });
  ctx.set_tensor(0, data.dtype, std::move(out));
  if (constant && known) pad_elements(ctx, *constant, *pads);
}

void needs_of_pad(Context& ctx) {
  if (ctx.opset() < 11) return;
  need_known(ctx, 1, "the pads of a Pad");
  if (ctx.has_input(3) && !ctx.ints(3)) ctx.leave_open("the axes of a Pad", 3);
}

// A constant amount of padding at one end of an axis that the inputs size: up to a length that was fixed. (Padding for
// a window is the same at both ends.)
void frozen_pad(FrozenContext& ctx) {
  const Fact& data = ctx.input(0);
  auto pads = ctx.followed(1);
  if (!data.shape || !pads || ctx.has_input(3)) return;
  size_t rank = data.shape->size();
  if (pads->size() != 2 * rank) return;
  for (size_t k = 0; k < rank; ++k) {
    auto begin = (*pads)[k].constant(), end = (*pads)[rank + k].constant();
    if (!(*data.shape)[k].is_symbolic() || !begin || !end || *begin == *end) continue;
    Meeting m;
    m.input = 1;
    m.element = static_cast<int>(rank + k);
    m.value = *end != 0 ? *end : *begin;
    m.expression = (*data.shape)[k];
    m.is_shape = m.silent = m.weak = true;
    ctx.meet(m);
  }
}

}  // namespace

// An axis that nothing is added to stays.
std::optional<AxesMap> pad_axes(NodeView& view) {
  const Fact &in = view.input(0), &out = view.output(0);
  if (!in.has_rank() || out.rank() != in.rank()) return std::nullopt;
  const auto pads = view.has_input(1) ? view.ints(1) : view.attr_ints(view.opset() < 2 ? "paddings" : "pads");
  const auto rank = static_cast<size_t>(in.rank());
  std::vector<int> padded;
  for (size_t k = 0; k < rank; ++k) {
    const bool known = pads && pads->size() == 2 * rank && !view.has_input(3);
    // What is cut at one end and added at the other moves.
    const bool stays = known && (*pads)[k] == 0 && (*pads)[rank + k] == 0;
    if (!stays) padded.push_back(static_cast<int>(k));
  }
  AxesMap map;
  map.keep_in_place(in.rank(), padded);
  for (const int axis : padded) map.mix({{0, axis}}, {{0, axis}});
  return map;
}

void batch_pad(BatchContext& n) {
  for (int i = 1; i < n.num_inputs(); ++i) n.require_same_for_all(i, "amount of padding");
  if (n.is_merged(0) && BatchContext::starts_with_one(n.output(0))) {
    return n.keep_on(Form::kMerged);
  }
  const int64_t rank = n.rank(0);
  const auto axes = n.original(3) ? n.constant_ints(3) : std::nullopt;
  if (n.original(3) && !axes) BatchContext::refuse("its axes are not constant");
  n.note_change();
  if (n.opset() < 11) {
    const auto pads = n.node().attribute_ints("pads");
    if (static_cast<int64_t>(pads.size()) != 2 * rank) BatchContext::refuse("it has not two pads for each axis");
    std::vector<int64_t> longer{0};
    longer.insert(longer.end(), pads.begin(), pads.begin() + rank);
    longer.push_back(0);
    longer.insert(longer.end(), pads.begin() + rank, pads.end());
    n.set_operand(0, n.leading(0));
    n.set_attribute({"pads", longer});
    return n.keep(Form::kLeading);
  }
  if (axes) {
    std::vector<int64_t> moved;
    for (const int64_t axis : *axes) moved.push_back(BatchContext::positive(axis, static_cast<int>(rank)) + 1);
    n.set_operand(0, n.leading(0));
    n.set_operand(3, n.list(moved));
    return n.keep(Form::kLeading);
  }
  ir::Value *zero = n.list({0}), *pads = n.original(1);
  ir::Value* longer = n.concat({zero, n.slice(pads, 0, rank), zero, n.slice(pads, rank)}, 0);
  n.set_operand(0, n.leading(0));
  n.set_operand(1, longer);
  n.keep(Form::kLeading);
}

void add_pad_ops(Registry& r) {
  using enum Role;
  r.add({.name = "Pad",
         .shape = pad,
         .op_class = OpClass::kMovement,
         .needs = needs_of_pad,
         .operands = {kData, kPads, kSetting, kAxes},
         .axes = axes_by(pad_axes),
         .batch = batch_with(batch_pad),
         .frozen = frozen_pad,
         .evaluation = Evaluation::kByRule});
}

}  // namespace thaw::ops
