// Tables of com.microsoft that are read by index: EmbedLayerNormalization and its quantized form, TorchEmbedding,
// GatherBlockQuantized, and position biases.
#include <string>

#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/onnx/gather.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/frozen_rule.h"
#include "thaw/ops/rule/needs.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void embed(Context& ctx, int words, int gamma, DataType dtype) {
  const Fact &ids = ctx.input(0), &table = ctx.input(words), &scale = ctx.input(gamma);
  if (ids.has_rank() && ids.rank() != 2)
    return ctx.invalid("the word ids have rank " + std::to_string(ids.rank()) + ", not 2");
  Dim batch = ids.has_rank() ? ids.dim(0) : Dim(), length = ids.has_rank() ? ids.dim(1) : Dim();
  Dim hidden = table.rank() == 2 ? table.dim(1) : Dim();
  if (scale.rank() == 1)
    hidden =
        ctx.require_equal(hidden, scale.dim(0), "hidden size of the embedding and its scale", {words, 1}, {gamma, 0});
  for (int i : {1, 7}) {
    require_axis(ctx, i, 2, 0, batch, "ids and what is said of each");
    require_axis(ctx, i, 2, 1, length, "ids and what is said of each");
  }
  for (int i = words + 1; i < gamma; ++i) require_axis(ctx, i, 2, 1, hidden, "hidden size of the tables");
  require_axis(ctx, gamma + 1, 1, 0, hidden, "hidden size of the embedding and its bias");
  if (const Fact& positions = ctx.input(words + 1); positions.rank() == 2 && !ctx.has_input(8))
    ctx.require_at_most(length, positions.dim(0), "tokens and the table of positions", {0, 1}, {words + 1, 0});
  ctx.set_tensor(0, dtype, Shape{batch, length, hidden});
  if (ctx.wants_output(1)) ctx.set_tensor(1, DataType::kInt32, Shape{batch});
  if (ctx.wants_output(2)) ctx.set_tensor(2, dtype, Shape{batch, length, hidden});
}

void embed_layer_norm_rule(Context& ctx) { embed(ctx, 2, 5, ctx.input(2).dtype); }
void quantized_embed_layer_norm_rule(Context& ctx) { embed(ctx, 2, 5, ctx.input(8).dtype); }

void embedding_rule(Context& ctx) {
  const Fact &table = ctx.input(0), &indices = ctx.input(1);
  std::optional<Shape> out = indices.shape;
  if (out) out->push_back(table.rank() == 2 ? table.dim(1) : Dim());
  ctx.set_tensor(0, table.dtype, std::move(out));
}

// uint8 data packs 8 / bits numbers in each byte of its last axis.
void gather_block_quantized_rule(Context& ctx) {
  const Fact &data = ctx.input(0), &indices = ctx.input(1);
  DataType dtype = ctx.input(2).dtype;
  ctx.set_tensor(0, dtype, std::nullopt);
  if (!data.has_rank() || !indices.has_rank()) return;
  auto axis = normalize_axis(ctx, ctx.attr_int("gather_axis", 0), data.rank());
  if (!axis) return;
  Shape wide = *data.shape;
  int64_t bits = ctx.attr_int("bits", 4);
  if (data.dtype == DataType::kUint8 && (bits == 2 || bits == 4)) wide.back() = wide.back() * (8 / bits);
  if (data.dtype == DataType::kUndefined) wide.back() = Dim();
  // A scale for each block along one axis, and each position of the others.
  const auto blocks = normalize_axis(ctx, ctx.attr_int("quantize_axis", 1), data.rank());
  const int64_t block = ctx.attr_int("block_size", 128);
  for (int k = 0; blocks && block > 0 && k < data.rank(); ++k) {
    const Dim size = wide[static_cast<size_t>(k)];
    require_axis(ctx, 2, data.rank(), k, k == *blocks ? dim::ceil_div(size, block) : size, "data and its scales");
  }
  Shape out(wide.begin(), wide.begin() + *axis);
  out.insert(out.end(), indices.shape->begin(), indices.shape->end());
  out.insert(out.end(), wide.begin() + *axis + 1, wide.end());
  ctx.set_tensor(0, dtype, std::move(out));
}

void relative_position_bias_rule(Context& ctx) {
  const Fact& table = ctx.input(0);
  auto query = ctx.dims_from(1), key = ctx.dims_from(2);
  ctx.set_tensor(
      0, table.dtype,
      Shape{1, table.rank() == 2 ? table.dim(1) : Dim(), query && query->size() == 1 ? query->front() : Dim(),
            key && key->size() == 1 ? key->front() : Dim()});
}

// The bias [1, heads, s, s], each row times a gate computed from its token in the query; tokens may be packed.
void gated_position_bias_rule(Context& ctx) {
  const Fact &query = ctx.input(0), &bias = ctx.input(2);
  const Fact& tokens = query.rank() == 2 ? ctx.input(6) : query;
  Shape out = bias.rank() == 4 ? *bias.shape : unknown_shape(4);
  out[0] = tokens.rank() >= 2 ? tokens.dim(0) : Dim();
  ctx.set_tensor(0, query.dtype, std::move(out));
}

// Words, segments and, where they are given, positions select rows of their tables.
std::optional<AxesMap> with_tables(std::optional<AxesMap> map, NodeView& view, int positions) {
  struct Table {
    int rows, by;
  };
  for (const auto& [rows, by] : {Table{2, 0}, Table{4, 1}, Table{3, positions}})
    if (map && by >= 0 && view.has_input(rows) && view.has_input(by)) map->contract({{rows, 0}}, Combine::kOther, by);
  return map;
}

std::optional<AxesMap> embed_axes(NodeView& view) {
  constexpr int kPositions = 8;
  return with_tables(match_axes("b s~, b s~, _ c~, _ c~, _ c~, c~, c~, b s~, b s~ -> b s~ c~, b, b s~ c~", view), view,
                     kPositions);
}

std::optional<AxesMap> quantized_embed_axes(NodeView& view) {
  return with_tables(match_axes("b s~, b s~, _ c~, _ c~, _ c~, c~, c~, b s~ -> b s~ c~, b", view), view, -1);
}

std::optional<AxesMap> torch_embedding_axes(NodeView& view) { return gather_axes(view, 0); }

void batch_torch_embedding(BatchContext& n) {
  if (!n.is_batched(0) || n.is_batched(1)) return batch_gather(n);
  // TorchEmbedding reads along the first axis only.
  n.become(0, n.emit("Gather", {n.leading(0), n.original(1)}, {{"axis", int64_t{1}}}), Form::kLeading);
}

// Scales and zero points have the data's axes, with fewer positions where blocks or bytes hold several numbers.
std::optional<AxesMap> gather_quantized_axes(NodeView& view) {
  auto map = gather_axes(view, view.attr_int("gather_axis", 0));
  if (!map) return std::nullopt;
  const Fact& data = view.input(0);
  const int rank = data.rank();
  const auto blocks = BatchContext::positive(view.attr_int("quantize_axis", 1), rank);
  const bool is_packed = data.dtype == DataType::kUint8 && view.attr_int("bits", 4) < 8;
  for (AxisLink& link : map->links) {
    const auto axis = link.axis_of_input(0);
    if (!axis) continue;
    for (int i : {2, 3})
      if (view.input(i).rank() == rank) link.inputs.push_back({i, *axis});
    const bool is_shared = *axis == blocks || (is_packed && *axis == rank - 1);
    if (is_shared && link.kind == AxisKind::kPreserved) link.kind = AxisKind::kMixed;
  }
  return map;
}

void batch_gather_quantized(BatchContext& n) {
  for (int i : {0, 2, 3})
    if (n.is_batched(i)) BatchContext::refuse("its rows differ from sample to sample");
  if (n.attr_int("gather_axis", 0) != 0) BatchContext::refuse("it reads along another axis than the first");
  const Form form = n.form_of(1);
  n.set_operand(1, form == Form::kMerged ? n.merged(1) : n.leading(1));
  n.keep(form);
}

// The lengths of query and key.
std::optional<std::vector<Dim>> position_lengths(ThawedView& view, int operand) {
  const Fact& out = view.output(0);
  if (out.rank() != 4 || (operand != 1 && operand != 2)) return std::nullopt;
  return std::vector{out.dim(operand + 1)};
}

constexpr std::string_view kRow = "an id and the rows of its table";

Dim rows_of(const Fact& table) { return table.rank() > 0 ? table.dim(0) : Dim(); }

void needs_of_embed(Context& ctx) {
  need_between(ctx, 0, 0, rows_of(ctx.input(2)) - 1, kRow);
  if (ctx.has_input(1)) need_between(ctx, 1, 0, rows_of(ctx.input(4)) - 1, kRow);
  if (ctx.node().op_type().starts_with("Q")) return;
  if (ctx.has_input(8)) need_between(ctx, 8, 0, rows_of(ctx.input(3)) - 1, kRow);
}

void needs_of_embedding(Context& ctx) { need_index(ctx, 1, rows_of(ctx.input(0)), kRow); }

void needs_of_gather_quantized(Context& ctx) {
  const Fact& data = ctx.input(0);
  const int64_t axis = ctx.attr_int("gather_axis", 0), at = axis < 0 ? axis + data.rank() : axis;
  need_index(ctx, 1, at >= 0 && at < data.rank() ? data.dim(static_cast<int>(at)) : Dim(),
             "an index and the axis it reads");
}

}  // namespace

void add_microsoft_embedding_ops(Registry& r) {
  using enum Role;
  // Where no positions are given, a token's index is its position.
  r.add({.domain = kMicrosoft,
         .name = "EmbedLayerNormalization",
         .shape = embed_layer_norm_rule,
         .needs = needs_of_embed,
         .operands = {kIndex, kIndex, kWeight, kWeight, kWeight, kBias, kBias, kMask, kPosition},
         .axes = axes_by(embed_axes),
         .standard = standard_embed_layer_norm});
  r.add({.domain = kMicrosoft,
         .name = "QEmbedLayerNormalization",
         .shape = quantized_embed_layer_norm_rule,
         .needs = needs_of_embed,
         .operands = {kIndex, kIndex, kWeight, kWeight, kWeight, kBias, kBias, kMask, kQuantScale, kQuantScale,
                      kQuantScale, kQuantScale, kQuantScale, kZeroPoint},
         .axes = axes_by(quantized_embed_axes)});
  r.add({.domain = kMicrosoft,
         .name = "TorchEmbedding",
         .shape = embedding_rule,
         .op_class = OpClass::kMovement,
         .needs = needs_of_embedding,
         .operands = {kWeight, kIndex, kSetting, kSetting},
         .axes = axes_by(torch_embedding_axes),
         .batch = batch_with(batch_torch_embedding)});
  r.add({.domain = kMicrosoft,
         .name = "GatherBlockQuantized",
         .shape = gather_block_quantized_rule,
         .op_class = OpClass::kMovement,
         .needs = needs_of_gather_quantized,
         .operands = {kWeight, kIndex, kQuantScale, kZeroPoint},
         .attributes = {{.name = "gather_axis", .role = kAxes, .otherwise = 0},
                        {.name = "quantize_axis", .role = kAxes, .otherwise = 1}},
         .axes = axes_by(gather_quantized_axes),
         .batch = batch_with(batch_gather_quantized)});
  r.add({.domain = kMicrosoft,
         .name = "RelativePositionBias",
         .shape = relative_position_bias_rule,
         .operands = {kWeight, kSize, kSize},
         .axes = axes_by("_ h~, , -> _ h~ q k"),
         .batch = no_batch("its output has the size that its operands say"),
         .sizes = position_lengths});
  // m: a query's heads and what is in them.
  r.add({.domain = kMicrosoft,
         .name = "GatedRelativePositionBias",
         .shape = gated_position_bias_rule,
         .operands = {kData, kBias, kData, kWeight, kBias, kBias, kIndex},
         .axes = axes_by("b q m~, m~, _ m~ q k, _ _, _, _ m~ _ _ -> b m~ q k")});
}

}  // namespace thaw::ops
