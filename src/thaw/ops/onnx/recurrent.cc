// RNN, GRU, LSTM. layout 0: X is (sequence, batch, input) and Y (sequence, directions, batch, hidden); layout 1 puts
// the batch first.
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

bool puts_batch_first(const NodeView& view) { return view.attr_int("layout", 0) != 0; }

struct Sizes {
  Dim sequence, batch, directions, hidden;
  bool batch_first = false;
};

// Merges a dim of an input, when its rank is as it should be.
void merge(Context& ctx, Dim& size, int input, int rank, int axis, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (!fact.has_rank()) return;
  if (fact.rank() != rank) {
    ctx.invalid("input " + std::to_string(input) + " has rank " + std::to_string(fact.rank()) + ", not " +
                std::to_string(rank));
    return;
  }
  size = ctx.require_equal(size, fact.dim(axis), what, {}, {input, axis});
}

Sizes read_sizes(Context& ctx, int gates, int state_inputs) {
  Sizes s;
  s.batch_first = puts_batch_first(ctx);
  std::string_view direction = ctx.attr_string("direction", "forward");
  if (direction == "bidirectional")
    s.directions = 2;
  else if (direction == "forward" || direction == "reverse")
    s.directions = 1;
  else
    ctx.invalid("direction '" + std::string(direction) + "' is not forward, reverse or bidirectional");
  if (auto hidden = ctx.attr_int("hidden_size")) s.hidden = *hidden;
  merge(ctx, s.directions, 1, 3, 0, "directions of a recurrent weight");
  merge(ctx, s.directions, 2, 3, 0, "directions of a recurrent weight");
  merge(ctx, s.hidden, 2, 3, 2, "hidden_size and the recurrent weight");
  const Fact &x = ctx.input(0), &w = ctx.input(1);
  if (w.rank() == 3) {
    if (s.hidden.is_known()) ctx.require_equal(s.hidden * gates, w.dim(1), "gates times hidden_size", {}, {1, 1});
    if (x.rank() == 3) ctx.require_equal(x.dim(2), w.dim(2), "input size of a recurrent weight", {0, 2}, {1, 2});
  }
  require_axis(ctx, 2, 3, 1, s.hidden * gates, "gates times hidden_size");
  require_axis(ctx, 3, 2, 0, s.directions, "directions of a recurrent bias");
  require_axis(ctx, 3, 2, 1, s.hidden * (int64_t{2} * gates), "both biases of the gates times hidden_size");
  if (state_inputs == 2) {
    require_axis(ctx, 7, 2, 0, s.directions, "directions of the peepholes");
    require_axis(ctx, 7, 2, 1, s.hidden * 3, "three peepholes times hidden_size");
  }
  merge(ctx, s.sequence, 0, 3, s.batch_first ? 1 : 0, "length of the sequence");
  merge(ctx, s.batch, 0, 3, s.batch_first ? 0 : 1, "batch of the sequence");
  if (ctx.has_input(4)) merge(ctx, s.batch, 4, 1, 0, "batch of sequence_lens");
  for (int i = 5; i < 5 + state_inputs; ++i) {
    if (!ctx.has_input(i)) continue;
    merge(ctx, s.batch, i, 3, s.batch_first ? 0 : 1, "batch of an initial state");
    merge(ctx, s.hidden, i, 3, 2, "hidden_size of an initial state");
    require_axis(ctx, i, 3, s.batch_first ? 1 : 0, s.directions, "directions of an initial state");
  }
  return s;
}

template <int kGates, int kStates>
void recurrent(Context& ctx) {
  Sizes s = read_sizes(ctx, kGates, kStates);
  ir::DataType dtype = ctx.input(0).dtype;
  if (ctx.wants_output(0))
    ctx.set_tensor(0, dtype,
                   s.batch_first ? Shape{s.batch, s.sequence, s.directions, s.hidden}
                                 : Shape{s.sequence, s.directions, s.batch, s.hidden});
  Shape state = s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  for (int o = 1; o <= kStates; ++o)
    if (ctx.wants_output(o)) ctx.set_tensor(o, dtype, state);
}

void needs_of_recurrent(Context& ctx) {
  const Fact& x = ctx.input(0);
  need_between(ctx, 4, 0, x.rank() == 3 ? x.dim(puts_batch_first(ctx) ? 1 : 0) : dim::Dim(),
               "a length and the steps of a sequence");
}

// X, W, R, B, lengths, states, peepholes -> Y, last states.
std::optional<AxesMap> recurrent_axes(NodeView& view) {
  constexpr std::string_view kTimeFirst =
      "t~ b i, d _ i, d _ h~, d _, b, d b h~, d b h~, d _ -> t~ d b h~, d b h~, d b h~";
  constexpr std::string_view kBatchFirst =
      "b t~ i, d _ i, d _ h~, d _, b, b d h~, b d h~, d _ -> b t~ d h~, b d h~, b d h~";
  return match_axes(puts_batch_first(view) ? kBatchFirst : kTimeFirst, view);
}

// A size of an axis of one of two operands of rank 3, where it is known.
std::optional<int64_t> size_in(const BatchContext& n, std::initializer_list<int> operands, int axis) {
  for (const int i : operands)
    if (const Fact& fact = n.input(i); n.original(i) && fact.rank() == 3)
      if (const auto size = fact.dim(axis).constant()) return size;
  return std::nullopt;
}

// Samples and each sample's own batch are one in the second axis, and part again.
void batch_time_first(BatchContext& n) {
  const auto last = size_in(n, {0, 1}, 2);  // the weights know it too
  const int64_t hidden = n.attr_int("hidden_size", 0);
  if (!last || hidden < 1) BatchContext::refuse("its sizes are not known");
  // [batch, a, b, c] -> [a, batch * b, c]
  const auto flattened = [&](int i, int64_t size) {
    return n.reshape(n.transpose(n.leading(i), {1, 0, 2, 3}), n.list({0, -1, size}));
  };
  n.set_operand(0, flattened(0, *last));
  if (n.original(4)) n.set_operand(4, n.reshape(n.leading(4), n.list({-1})));
  for (const int state : {5, 6})
    if (n.original(state)) n.set_operand(state, flattened(state, hidden));
  const BatchEmit after = n.after();
  for (int i = 0; i < n.num_outputs(); ++i) {
    ir::Value* y = n.node().output(i);
    if (!y) continue;
    const int64_t before = i == 0 ? 2 : 1;  // axes before the batch: time and directions, or directions
    ir::Value* outer = after.list(std::vector<int64_t>(static_cast<size_t>(before), 0));
    ir::Value* target = after.concat({outer, after.batch_size(), after.list({-1, hidden})}, 0);
    std::vector<int64_t> permutation{before};
    for (int64_t axis = 0; axis < before + 3; ++axis)
      if (axis != before) permutation.push_back(axis);
    n.become(i, after.transpose(after.reshape(y, target), permutation), Form::kLeading);
  }
}

void batch_recurrent(BatchContext& n) {
  for (const int i : {1, 2, 3, 7})
    if (n.is_batched(i)) BatchContext::refuse("its weights differ from sample to sample");
  if (puts_batch_first(n)) return batch_by_axes(n);
  batch_time_first(n);
}

// Each step takes every number of both weights, for each sample.
Dim recurrent_flops(NodeView& view) {
  const Fact& x = view.input(0);
  return x.rank() != 3 ? Dim()
                       : x.dim(0) * x.dim(1) * (view.input(1).num_elements() + view.input(2).num_elements()) * 2;
}

}  // namespace

void add_recurrent_ops(Registry& r) {
  using enum Role;
  const auto add_op = [&r](Operator op) {
    op.op_class = OpClass::kContraction;
    op.axes = axes_by(recurrent_axes);
    op.batch = batch_with(batch_recurrent);
    op.flops = recurrent_flops;
    r.add(std::move(op));
  };
  add_op({.name = "RNN",
          .shape = recurrent<1, 1>,
          .needs = needs_of_recurrent,
          .operands = {kData, kWeight, kWeight, kBias, kCount, kState}});
  add_op({.name = "GRU",
          .shape = recurrent<3, 1>,
          .needs = needs_of_recurrent,
          .operands = {kData, kWeight, kWeight, kBias, kCount, kState}});
  add_op({.name = "LSTM",
          .shape = recurrent<4, 2>,
          .needs = needs_of_recurrent,
          .operands = {kData, kWeight, kWeight, kBias, kCount, kState, kState, kBias}});
}

}  // namespace thaw::ops
