// Sequences: SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength,
// SplitToSequence, ConcatFromSequence. The items of short sequences of known length are followed one by one.
#include "thaw/ops/onnx/sequence.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

using Items = std::vector<Fact>;

constexpr int64_t kMaxItems = 256;  // items followed one by one; a longer sequence keeps what its items share

Fact merged(const Items& items) {
  Fact all = items.front();
  for (size_t i = 1; i < items.size(); ++i) all = join(all, items[i]);
  return all;
}

// ONNX has sequences of tensors only. Of a file that puts sequences into sequences no more is kept than that they are
// some: what an item holds would double with every level.
Fact sequence_of(Items items) {
  for (Fact& item : items) {
    if (item.is_tensor() || item.kind == Fact::Kind::kUnknown) continue;
    Fact bare;
    bare.kind = item.kind;
    item = std::move(bare);
  }
  Fact fact = Fact::sequence(items.empty() ? nullptr : std::make_shared<const Fact>(merged(items)),
                             static_cast<int64_t>(items.size()));
  if (static_cast<int64_t>(items.size()) <= kMaxItems) fact.items = std::make_shared<const Items>(std::move(items));
  return fact;
}

// Input i with its elements read.
Fact followed_input(Context& ctx, int i) {
  ctx.elements(i);
  return ctx.input(i);
}

// The position input of SequenceAt, SequenceInsert and SequenceErase, when known, in [0, bound).
std::optional<size_t> known_position(Context& ctx, int input, int64_t length, int64_t bound) {
  auto given = ctx.ints(input);
  if (!given || given->size() != 1) return std::nullopt;
  int64_t at = given->front();
  if (at < 0 && at >= -length) at += length;
  if (at >= 0 && at < bound) return static_cast<size_t>(at);
  ctx.invalid("position " + std::to_string(given->front()) + " in a sequence of " + std::to_string(length) + " items");
  return std::nullopt;
}

// A position in a sequence, counted from either end; kPastEnd: or behind its last item.
template <int kInput, int64_t kPastEnd>
void needs_position(Context& ctx) {
  const Dim length = ctx.input(0).length;
  need_between(ctx, kInput, -length, length - 1 + kPastEnd, "a position and the items of its sequence");
  // Without one the last is taken.
  if (!ctx.has_input(kInput) && kPastEnd == 0) ctx.require_of_values(1, length, "the items of a sequence", 0, false);
}

// Parts of one length, or a list of lengths.
void needs_of_split_to_sequence(Context& ctx) {
  need_known(ctx, 1, "the lengths of the parts of a SplitToSequence");
  need_at_least(ctx, 1, ctx.input(1).rank() == 0 ? 1 : 0, "a length of a part");
}

void sequence_construct(Context& ctx) {
  Items items;
  for (int i = 0; i < ctx.num_inputs(); ++i) items.push_back(followed_input(ctx, i));
  ctx.set_output(0, sequence_of(std::move(items)));
}

void sequence_empty(Context& ctx) {
  DataType dtype = data_type_from_attr(ctx.attr_int("dtype", static_cast<int64_t>(DataType::kFloat)));
  Fact fact = sequence_of({});
  fact.element = std::make_shared<const Fact>(Fact::tensor(dtype, std::nullopt));
  ctx.set_output(0, std::move(fact));
}

void sequence_at(Context& ctx) {
  const Fact& sequence = ctx.input(0);
  if (sequence.items) {
    auto count = static_cast<int64_t>(sequence.items->size());
    if (auto at = known_position(ctx, 1, count, count)) {
      Fact item = (*sequence.items)[*at];
      return ctx.set_output(0, std::move(item));
    }
  }
  if (sequence.element) ctx.set_output(0, *sequence.element);
}

void sequence_insert(Context& ctx) {
  Fact sequence = ctx.input(0);
  Fact item = followed_input(ctx, 1);
  if (sequence.items && static_cast<int64_t>(sequence.items->size()) < kMaxItems) {
    auto count = static_cast<int64_t>(sequence.items->size());
    std::optional<size_t> at = static_cast<size_t>(count);
    if (ctx.has_input(2)) at = known_position(ctx, 2, count, count + 1);
    if (at) {
      Items items = *sequence.items;
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(*at), std::move(item));
      return ctx.set_output(0, sequence_of(std::move(items)));
    }
  }
  std::shared_ptr<const Fact> element;
  if (sequence.length.is_constant(0))
    element = std::make_shared<const Fact>(std::move(item));
  else if (sequence.element)
    element = std::make_shared<const Fact>(join(*sequence.element, item));
  ctx.set_output(0, Fact::sequence(std::move(element), sequence.length + 1));
}

void sequence_erase(Context& ctx) {
  const Fact& sequence = ctx.input(0);
  if (sequence.items && !sequence.items->empty()) {
    auto count = static_cast<int64_t>(sequence.items->size());
    std::optional<size_t> at = static_cast<size_t>(count - 1);
    if (ctx.has_input(1)) at = known_position(ctx, 1, count, count);
    if (at) {
      Items items = *sequence.items;
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(*at));
      Fact fact = sequence_of(std::move(items));
      if (!fact.element) fact.element = sequence.element;
      return ctx.set_output(0, std::move(fact));
    }
  }
  ctx.set_output(0, Fact::sequence(sequence.element, sequence.length - 1));
}

void sequence_length(Context& ctx) {
  Dim length = ctx.input(0).length;
  ctx.set_tensor(0, DataType::kInt64, Shape{});
  ctx.set_elements(0, {Element::integer(length)});
}

// The part [begin, begin + size) of input 0 along an axis, its elements followed where they are.
Fact part_of_input(Context& ctx, int axis, int64_t begin, Dim size) {
  const Fact& data = ctx.input(0);
  Shape shape = *data.shape;
  shape[static_cast<size_t>(axis)] = size;
  Fact part = Fact::tensor(data.dtype, shape);
  auto small = small_input(ctx, 0);
  auto constant = small ? constant_shape(shape) : std::nullopt;
  if (!constant || begin < 0 || begin > small->shape[axis] - (*constant)[axis]) return part;
  auto strides = strides_of(small->shape);
  auto elements = build_elements(*constant, [&](const std::vector<int64_t>& at) {
    return small->at(offset_of(at, strides) + begin * strides[axis]);
  });
  if (elements) part.elements = std::make_shared<const Elements>(std::move(*elements));
  return part;
}

Fact without_axis(Fact fact, int axis) {
  fact.shape->erase(fact.shape->begin() + axis);
  return fact;
}

// The sizes of the parts, when their number is a constant.
std::optional<std::vector<Dim>> part_sizes(Context& ctx, Dim size, bool& scalar) {
  scalar = true;
  Dim chunk = 1;
  if (ctx.has_input(1)) {
    scalar = ctx.input(1).rank() == 0;
    auto given = ctx.dims_from(1);
    if (!scalar || !given) return given;
    chunk = given->front();
  }
  auto total = size.constant(), each = chunk.constant();
  if (!total || !each || *each < 1 || *total / *each >= kMaxItems) return std::nullopt;
  std::vector<Dim> sizes;
  for (int64_t begin = 0; begin < *total; begin += *each) sizes.push_back(std::min(*each, *total - begin));
  return sizes;
}

void split_to_sequence(Context& ctx) {
  const Fact& data = ctx.input(0);
  Fact unknown = Fact::sequence(std::make_shared<const Fact>(Fact::tensor(data.dtype, std::nullopt)));
  if (!data.has_rank()) return ctx.set_output(0, std::move(unknown));
  auto axis = normalize_axis(ctx, ctx.attr_int("axis", 0), data.rank());
  if (!axis) return ctx.set_output(0, std::move(unknown));
  bool removed = !ctx.has_input(1) && ctx.attr_int("keepdims", 1) == 0;
  bool scalar = true;
  Dim size = data.dim(*axis);
  auto sizes = part_sizes(ctx, size, scalar);
  if (sizes && static_cast<int64_t>(sizes->size()) <= kMaxItems) {
    if (!scalar)
      ctx.require_equal(size, dim::sum(*sizes), "a split axis and the sum of its parts", {0, *axis}, {1, -1});
    Items items;
    Dim begin = 0;
    for (Dim part : *sizes) {
      // A part that begins at a position that is not known still has its size; its elements are not followed.
      Fact item = part_of_input(ctx, *axis, begin.constant().value_or(INT32_MAX), part);
      items.push_back(removed ? without_axis(std::move(item), *axis) : std::move(item));
      begin = begin + part;
    }
    return ctx.set_output(0, sequence_of(std::move(items)));
  }
  // Parts of one size, but perhaps the last.
  Dim chunk = 1, length;
  if (ctx.has_input(1)) {
    auto given = scalar ? ctx.dims_from(1) : std::nullopt;
    chunk = given ? given->front() : Dim();
    length = at_least(chunk, 1) ? dim::ceil_div(size, chunk) : Dim();
    if (!(at_least(chunk, 1) && dim::exact_div(size, chunk))) chunk = Dim();
  } else {
    length = size;
  }
  Shape shape = *data.shape;
  shape[static_cast<size_t>(*axis)] = chunk;
  Fact item = Fact::tensor(data.dtype, std::move(shape));
  if (removed) item = without_axis(std::move(item), *axis);
  ctx.set_output(0, Fact::sequence(std::make_shared<const Fact>(std::move(item)), length));
}

// Followed elements of a Concat of vectors (or a stack of scalars) along axis 0.
void set_concatenated_elements(Context& ctx, const Items& items) {
  Elements out;
  for (const Fact& item : items) {
    auto count = item.num_elements().constant();
    if (!count || *count < 0 || *count + static_cast<int64_t>(out.size()) > kMaxElements) return;
    if (item.elements)
      out.insert(out.end(), item.elements->begin(), item.elements->end());
    else
      out.resize(out.size() + static_cast<size_t>(*count));
  }
  ctx.set_elements(0, std::move(out));
}

void concat_from_sequence(Context& ctx) {
  const Fact& sequence = ctx.input(0);
  Fact element = sequence.element ? *sequence.element : Fact();
  bool stacks = ctx.attr_int("new_axis", 0) != 0;
  auto attr = ctx.attr_int("axis");
  if (!element.has_rank() || !attr) return unknown_tensor(ctx, 0, element.dtype);
  int rank = element.rank() + (stacks ? 1 : 0);
  auto axis = normalize_axis(ctx, *attr, rank);
  if (!axis) return unknown_tensor(ctx, 0, element.dtype);
  Shape out = *element.shape;
  if (stacks) {
    out.insert(out.begin() + *axis, sequence.length);
  } else if (sequence.items) {
    Dim total = 0;
    for (const Fact& item : *sequence.items)
      total = total + (item.rank() == element.rank() ? item.dim(static_cast<int>(*axis)) : Dim());
    out[static_cast<size_t>(*axis)] = total;
  } else {
    Dim& size = out[static_cast<size_t>(*axis)];
    size = size * sequence.length;
  }
  ctx.set_tensor(0, element.dtype, std::move(out));
  if (sequence.items && *axis == 0) set_concatenated_elements(ctx, *sequence.items);
}

// Every item holds all samples, leading; operands after the items are the same for all.
template <int kItems>
void batch_items(BatchContext& n) {
  for (int i = kItems; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) BatchContext::refuse(fmt::format("its operand {} differs from sample to sample", i));
  for (int i = 0; i < std::min(n.num_inputs(), kItems); ++i) n.set_operand(i, n.leading(i));
  n.keep(Form::kLeading);
}

// The same, and its axis counts the batch before it.
void batch_items_by_axis(BatchContext& n) {
  batch_items<1>(n);
  n.set_attribute({"axis", BatchContext::shifted(n.attr_int("axis", 0))});
  n.note_change();
}

}  // namespace

void add_sequence_ops(Registry& r) {
  using enum Role;
  constexpr Axes kNoAxes = no_axes(kNoAxesOfSequences);
  r.add({.name = "SequenceConstruct",
         .shape = sequence_construct,
         .op_class = OpClass::kMovement,
         .axes = kNoAxes,
         .batch = batch_with(batch_items<INT32_MAX>)});
  r.add({.name = "SequenceEmpty",
         .shape = sequence_empty,
         .op_class = OpClass::kGenerator,
         .axes = no_axes("it has no operand")});
  r.add({.name = "SequenceAt",
         .shape = sequence_at,
         .op_class = OpClass::kMovement,
         .needs = needs_position<1, 0>,
         .operands = {kData, kIndex},
         .axes = kNoAxes,
         .batch = batch_with(batch_items<1>)});
  r.add({.name = "SequenceErase",
         .shape = sequence_erase,
         .op_class = OpClass::kMovement,
         .needs = needs_position<1, 0>,
         .operands = {kData, kIndex},
         .axes = kNoAxes,
         .batch = batch_with(batch_items<1>)});
  r.add({.name = "SequenceInsert",
         .shape = sequence_insert,
         .op_class = OpClass::kMovement,
         .needs = needs_position<2, 1>,
         .operands = {kData, kData, kIndex},
         .axes = kNoAxes,
         .batch = batch_with(batch_items<2>)});
  r.add({.name = "SequenceLength",
         .shape = sequence_length,
         .operands = {kShapeOnly},
         .axes = kNoAxes,
         .batch = batch_with(batch_length)});
  r.add({.name = "SplitToSequence",
         .shape = split_to_sequence,
         .op_class = OpClass::kMovement,
         .needs = needs_of_split_to_sequence,
         .operands = {kData, kLengths},
         .attributes = {{.name = "axis", .role = kAxes, .otherwise = 0}},
         .axes = kNoAxes,
         .batch = batch_with(batch_items_by_axis)});
  r.add({.name = "ConcatFromSequence",
         .shape = concat_from_sequence,
         .op_class = OpClass::kMovement,
         .attributes = {{.name = "axis", .role = kAxes}},
         .axes = kNoAxes,
         .batch = batch_with(batch_items_by_axis)});
}

}  // namespace thaw::ops
