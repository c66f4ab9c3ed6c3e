// Random numbers, and EyeLike.
#include <string>

#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"

namespace thaw::ops {

using ir::DataType;

namespace {

DataType dtype_or(Context& ctx, DataType otherwise) {
  auto value = ctx.attr_int("dtype");
  return value ? data_type_from_attr(*value) : otherwise;
}

void random_rule(Context& ctx) {
  auto list = ctx.attr_ints("shape");
  DataType dtype = dtype_or(ctx, DataType::kFloat);
  if (!list) {
    ctx.invalid("the attribute shape is missing");
    return ctx.set_tensor(0, dtype, std::nullopt);
  }
  for (int64_t d : *list)
    if (d < 0) return ctx.invalid("shape holds the negative size " + std::to_string(d));
  ctx.set_tensor(0, dtype, Shape(list->begin(), list->end()));
}

void like_rule(Context& ctx) { shape_of_input(ctx, 0, 0, dtype_or(ctx, ctx.input(0).dtype)); }

void eye_like_rule(Context& ctx) {
  like_rule(ctx);
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() != 2) ctx.invalid("EyeLike needs a matrix, not rank " + std::to_string(x.rank()));
}

void multinomial_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (x.has_rank() && x.rank() != 2)
    ctx.invalid("Multinomial needs (batch, classes), not rank " + std::to_string(x.rank()));
  ctx.set_tensor(0, dtype_or(ctx, DataType::kInt32),
                 Shape{x.rank() == 2 ? x.dim(0) : dim::Dim(), ctx.attr_int("sample_size", 1)});
}

// Any sample will do for its shape.
void batch_eye_like(BatchContext& n) {
  n.set_operand(0, n.emit("Gather", {n.leading(0), n.integer(0)}, {{"axis", int64_t{0}}}));
  n.note_change();
}

}  // namespace

void add_random_ops(Registry& r) {
  using enum Role;
  r.add({"RandomNormal", "RandomUniform"}, {.shape = random_rule,
                                            .op_class = OpClass::kGenerator,
                                            .attributes = {{"shape", kShape}},
                                            .axes = no_axes(kDraws),
                                            .deterministic = false});
  r.add({"RandomNormalLike", "RandomUniformLike"}, {.shape = like_rule,
                                                    .op_class = OpClass::kGenerator,
                                                    .operands = {kShapeOnly},
                                                    .axes = no_axes(kDraws),
                                                    .deterministic = false});
  r.add({.name = "Bernoulli",
         .shape = like_rule,
         .op_class = OpClass::kElementwise,
         .batch = no_batch(kDraws),
         .deterministic = false});
  r.add({.name = "Multinomial",
         .shape = multinomial_rule,
         .axes = axes_by("b c~ -> b _"),
         .batch = no_batch(kDraws),
         .deterministic = false});
  r.add({.name = "EyeLike",
         .shape = eye_like_rule,
         .op_class = OpClass::kGenerator,
         .operands = {kShapeOnly},
         .axes = axes_by(" -> i j"),
         .batch = batch_with(batch_eye_like)});
}

}  // namespace thaw::ops
