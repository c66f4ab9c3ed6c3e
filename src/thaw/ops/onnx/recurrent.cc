// RNN, GRU, LSTM. layout 0: X is (sequence, batch, input) and Y (sequence, directions, batch, hidden); layout 1 puts
// the batch first.
#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;

namespace {

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
  s.batch_first = ctx.attr_int("layout", 0) != 0;
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
  merge(ctx, s.sequence, 0, 3, s.batch_first ? 1 : 0, "length of the sequence");
  merge(ctx, s.batch, 0, 3, s.batch_first ? 0 : 1, "batch of the sequence");
  if (ctx.has_input(4)) merge(ctx, s.batch, 4, 1, 0, "batch of sequence_lens");
  for (int i = 5; i < 5 + state_inputs; ++i) {
    if (!ctx.has_input(i)) continue;
    merge(ctx, s.batch, i, 3, s.batch_first ? 0 : 1, "batch of an initial state");
    merge(ctx, s.hidden, i, 3, 2, "hidden_size of an initial state");
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

}  // namespace

void add_recurrent_ops(Registry& r) {
  r.add({"", "RNN", recurrent<1, 1>, OpClass::kContraction});
  r.add({"", "GRU", recurrent<3, 1>, OpClass::kContraction});
  r.add({"", "LSTM", recurrent<4, 2>, OpClass::kContraction});
}

}  // namespace thaw::ops
