#include "thaw/ops/rule/needs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/size_help.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using dim::Dim;

namespace {

constexpr size_t kMaxStated = 64;  // elements of one operand that something is stated of one by one

// Whether an operand's numbers may decide if a node runs, so that its entry has to say.
bool has_to_be_said(const Operator& op, const Context& ctx, int input) {
  if (holds_size(op.operands[input])) return true;
  switch (op.operands[input]) {
    case Role::kScales:
    case Role::kAxes:
    case Role::kSteps:
    case Role::kIndex:
    case Role::kPosition:
    case Role::kCount:
    case Role::kSetting:
      return true;
    case Role::kData: {
      if (op.op_class != OpClass::kOther || op.operands.size() != 0) return false;
      const ir::DataType dtype = ctx.input(input).dtype;
      return dtype == ir::DataType::kUndefined || ir::is_integer(dtype);
    }
    default:
      return false;
  }
}

// Whether the sizes of its outputs are not known though those of all operands are: its rule came to no end, and may have stated less
// than has to hold. What runs graphs joins their outputs.
bool is_a_size_left_out(const Operator& op, Context& ctx) {
  const auto is_known = [](const Fact& fact) {
    return !fact.is_tensor() ||
           (fact.has_rank() && std::ranges::none_of(*fact.shape, [](Dim d) { return d.is_unknown(); }));
  };
  if (op.op_class == OpClass::kControl) return false;
  bool is_one_left_out = false;
  for (int o = 0; o < ctx.num_outputs() && !is_one_left_out; ++o)
    is_one_left_out = ctx.wants_output(o) && !is_known(ctx.output(o));
  if (!is_one_left_out) return false;
  for (int i = 0; i < ctx.num_inputs(); ++i)
    if (ctx.has_input(i) && (ctx.input(i).kind == Fact::Kind::kUnknown || !is_known(ctx.input(i)))) return false;
  return true;
}

// The expressions that an operand holds, each once, constants as their lowest and highest; nullopt where one is not known or they
// are too many.
std::optional<std::vector<Dim>> distinct(const Elements& elements) {
  auto numbers = numbers_of(elements, kMaxStated);
  if (!numbers) return std::nullopt;
  std::vector<Dim> found = std::move(numbers->expressions);
  if (numbers->lowest) found.emplace_back(*numbers->lowest);
  if (numbers->highest != numbers->lowest) found.emplace_back(*numbers->highest);
  return found;
}

// Calls state(lowest, highest, is_enough) for what is known of an operand's numbers; leaves it open where nothing is.
template <typename State>
void for_values(Context& ctx, int input, std::string_view what, State state) {
  if (!ctx.has_input(input)) return;
  const Dim count = ctx.input(input).num_elements();
  if (count.is_constant(0)) return;
  if (const Elements* list = ctx.elements(input)) {
    if (const auto values = distinct(*list)) {
      for (const Dim d : *values) state(d, d, false);
      return;
    }
  }
  const auto range = ctx.range(input);
  if (!range) return ctx.leave_open(what, input);
  state(range->lowest, range->highest, !range->is_reached || !at_least(count, 1));
}

}  // namespace

void need_between(Context& ctx, int input, Dim lowest, Dim highest, std::string_view what) {
  for_values(ctx, input, what, [&](Dim low, Dim high, bool is_enough) {
    ctx.require_of_values(lowest, low, what, input, is_enough);
    ctx.require_of_values(high, highest, what, input, is_enough);
  });
}

void need_at_least(Context& ctx, int input, int64_t lowest, std::string_view what) {
  for_values(ctx, input, what,
             [&](Dim low, Dim, bool is_enough) { ctx.require_of_values(lowest, low, what, input, is_enough); });
}

namespace {

void require_index(Context& ctx, int input, Dim low, Dim high, Dim size, std::string_view what, bool is_enough) {
  if (!at_least(low, 0)) ctx.require_of_values(-low, size, what, input, is_enough);
  ctx.require_of_values(high + 1, size, what, input, is_enough);
}

}  // namespace

void need_index(Context& ctx, int input, Dim size, std::string_view what) {
  for_values(ctx, input, what,
             [&](Dim low, Dim high, bool is_enough) { require_index(ctx, input, low, high, size, what, is_enough); });
}

void need_coordinates(Context& ctx, int input, int64_t first) {
  constexpr std::string_view kWhat = "an index and the axis it names";
  const Fact &data = ctx.input(0), &indices = ctx.input(input);
  const auto depth = indices.rank() > 0 ? indices.dim(indices.rank() - 1).constant() : std::nullopt;
  if (!depth || first < 0 || first > data.rank() || *depth < 1 || *depth > data.rank() - first)
    return ctx.leave_open(kWhat, input);
  const auto count = static_cast<size_t>(*depth);
  const Elements* list = ctx.elements(input);
  const bool is_followed =
      list && std::ranges::none_of(*list, [](const Element& e) { return e.as_dim().is_unknown(); });
  const auto range = is_followed ? std::nullopt : ctx.range(input);
  if (!is_followed && !range && !indices.num_elements().is_constant(0)) return ctx.leave_open(kWhat, input);
  for (size_t k = 0; k < count; ++k) {
    const Dim size = data.dim(static_cast<int>(first + static_cast<int64_t>(k)));
    // A number along one axis alone is the lowest or the highest of them all.
    const auto state = [&](Dim low, Dim high, bool is_enough) {
      require_index(ctx, input, low, high, size, kWhat, is_enough);
    };
    if (range) {
      state(range->lowest, range->highest, count > 1 || !range->is_reached || !at_least(indices.num_elements(), 1));
      continue;
    }
    Elements column;
    for (size_t at = k; is_followed && at < list->size(); at += count) column.push_back((*list)[at]);
    const auto values = distinct(column);
    if (!values) return ctx.leave_open(kWhat, input);
    for (const Dim d : *values) state(d, d, false);
  }
}

void need_nonzero(Context& ctx, int input, std::string_view what) {
  // A 0 between a lowest and a highest constant.
  const Elements* list = ctx.has_input(input) ? ctx.elements(input) : nullptr;
  if (list && std::ranges::any_of(*list, [](const Element& e) { return e.as_dim().is_constant(0); }))
    return ctx.require_of_values(1, 0, what, input, false);
  for_values(ctx, input, what, [&](Dim low, Dim high, bool is_enough) {
    if (at_least(low, 1) || at_most(high, -1)) return;
    // What is not negative has to be 1 at least. Of others that is not needed, but it is enough.
    ctx.require_of_values(1, low, what, input, is_enough || !at_least(low, 0));
  });
}

void need_known(Context& ctx, int input, std::string_view what) {
  if (!ctx.has_input(input) || ctx.input(input).num_elements().is_constant(0)) return;
  const Elements* list = ctx.elements(input);
  if (!list || std::ranges::any_of(*list, [](const Element& e) { return e.is_unknown(); })) ctx.leave_open(what, input);
}

void need_axis(Context& ctx, int input, int rank, std::string_view what) {
  if (!ctx.has_input(input)) return;
  const Dim count = ctx.input(input).num_elements();
  const bool is_constant = ctx.ints(input).has_value();
  if (is_constant && rank < 0) return;  // whose rank is not known is said for itself
  if (rank < 0 || (!is_constant && !count.is_constant(1))) return ctx.leave_open(what, input);
  need_between(ctx, input, -rank, rank - 1, what);
}

void needs_nothing(Context&) {}

void needs_sizes(Context& ctx) {
  const Operator* op = registry().find(ctx.node());
  for (int i = 0; op && i < ctx.num_inputs(); ++i)
    if (holds_size(op->operands[i])) need_known(ctx, i, "numbers that sizes are made of");
}

void needs_an_axis(Context& ctx) {
  const Operator* op = registry().find(ctx.node());
  for (int i = 0; op && i < ctx.num_inputs(); ++i)
    if (op->operands[i] == Role::kAxes) need_axis(ctx, i, ctx.input(0).rank(), "an axis within the rank");
}

void state_values(const Operator& op, Context& ctx) {
  if (ctx.num_outputs() == 0) return;
  if (op.needs) {
    op.needs(ctx);
  } else {
    for (int i = 0; i < ctx.num_inputs(); ++i)
      if (ctx.has_input(i) && has_to_be_said(op, ctx, i))
        ctx.leave_open("numbers of which its rule does not say what it needs", i);
  }
  if (is_a_size_left_out(op, ctx)) ctx.leave_open("a size that its rule does not tell", -1);
  if (op.range && ir::is_integer(ctx.output(0).dtype)) op.range(ctx);
  // No axis has a size below 0: where a rule has not stated what keeps it from that, this does.
  for (int o = 0; o < ctx.num_outputs(); ++o) {
    const Fact& output = ctx.output(o);
    for (int axis = 0; axis < output.rank(); ++axis)
      if (const Dim d = output.dim(axis); d.is_symbolic() && !ctx.holds_at_least(d, 0))
        ctx.require_of_values(0, d, "the size of an axis of its output", -1, false);
  }
}

}  // namespace thaw::ops
