// Operators of com.microsoft on the tokens of all sequences packed into one axis: PackedAttention,
// PackedMultiHeadAttention, PagedAttention, RemovePadding, RestorePadding.
#include "thaw/ops/microsoft/attention.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

constexpr std::string_view kPacked = "it takes the tokens of all sequences packed into one axis";

void packed_attention_rule(Context& ctx) { projected_attention(ctx, {.packed = true}, ctx.input(0).dtype); }

// (tokens, hidden), or (tokens, heads, 3, head) packed.
void packed_multi_head_rule(Context& ctx) {
  const Fact &q = ctx.input(0), &v = ctx.input(2);
  Dim tokens = q.has_rank() && q.rank() >= 1 ? q.dim(0) : Dim();
  Dim hidden = q.rank() == 4 ? q.dim(1) * q.dim(3) : ctx.has_input(2) ? dim_of(v, 2, 1) : Dim();
  ctx.set_tensor(0, q.dtype, Shape{tokens, hidden});
}

void paged_attention_rule(Context& ctx) {
  const Fact& q = ctx.input(0);
  for (int o : {1, 2})
    if (ctx.wants_output(o)) shape_of_input(ctx, o, o + 2, ctx.input(o + 2).dtype);
  if (q.rank() != 2) return ctx.set_tensor(0, q.dtype, unknown_shape(2));
  Dim hidden = grouped_query(ctx, 1).hidden;
  if (int64_t v_head = ctx.attr_int("v_head_size", 0); v_head > 0) hidden = heads(ctx) * v_head;
  ctx.set_tensor(0, q.dtype, Shape{q.dim(0), hidden});
}

// (batch, sequence, hidden) -> (tokens, hidden), offsets (batch, sequence), cumulative lengths (batch + 1), the longest
// (1).
void remove_padding_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  Dim batch = x.rank() == 3 ? x.dim(0) : Dim(), length = x.rank() == 3 ? x.dim(1) : Dim();
  ctx.set_tensor(0, x.dtype, Shape{ctx.data_dependent(0, 0), x.rank() == 3 ? x.dim(2) : Dim()});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt32, Shape{batch, length});
  if (ctx.wants_output(2)) ctx.set_tensor(2, DataType::kInt32, Shape{batch + 1});
  if (ctx.wants_output(3)) ctx.set_tensor(3, DataType::kInt32, Shape{1});
}

void restore_padding_rule(Context& ctx) {
  const Fact &x = ctx.input(0), &offsets = ctx.input(1);
  Shape out = {Dim(), Dim(), x.has_rank() && x.rank() > 0 ? x.shape->back() : Dim()};
  if (offsets.rank() == 2) {
    out[0] = offsets.dim(0);
    out[1] = offsets.dim(1);
  }
  ctx.set_tensor(0, x.dtype, std::move(out));
}

}  // namespace

void add_microsoft_packed_ops(Registry& r) {
  using enum Role;
  r.add({.domain = kMicrosoft,
         .name = "PackedAttention",
         .shape = packed_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kWeight, kBias, kIndex, kCount, kMask},
         .axes = no_axes(kPacked)});
  r.add({.domain = kMicrosoft,
         .name = "PackedMultiHeadAttention",
         .shape = packed_multi_head_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kBias, kIndex, kCount, kMask},
         .axes = no_axes(kPacked)});
  r.add({.domain = kMicrosoft,
         .name = "PagedAttention",
         .shape = paged_attention_rule,
         .op_class = OpClass::kContraction,
         .operands = {kData, kData, kData, kState, kState, kCount, kCount, kIndex, kData, kData, kIndex, kBias, kBias,
                      kBias, kQuantScale, kQuantScale, kSetting},
         .axes = no_axes(kPacked)});
  r.add({.domain = kMicrosoft,
         .name = "RemovePadding",
         .shape = remove_padding_rule,
         .op_class = OpClass::kMovement,
         .operands = {kData, kCount},
         .axes = no_axes(kPacked)});
  r.add({.domain = kMicrosoft,
         .name = "RestorePadding",
         .shape = restore_padding_rule,
         .op_class = OpClass::kMovement,
         .operands = {kData, kIndex},
         .axes = no_axes(kPacked)});
}

}  // namespace thaw::ops
