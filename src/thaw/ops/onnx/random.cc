// Random numbers, and EyeLike.
#include <cmath>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
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

// Numbers of [0, 1): a polynomial of the position, modulo a prime.
ir::Value* scattered(const ir::Node& node, int64_t salt, const Emit& at) {
  constexpr int64_t kPrime = 65537, kSquares = 7919, kPositions = 104729;
  const auto given = node.attribute_ints("shape");
  ir::Value* sizes = node.input(0) ? at.shape(node.input(0)) : at.list({given.begin(), given.end()});
  ir::Value* count = at.reduce("ReduceProd", sizes, {0}, false);
  ir::Value* position = at.emit("Range", {at.integer(0), count, at.integer(1)});
  ir::Value* slope = at.add(at.mul(position, at.integer(kSquares)), at.integer(kPositions + salt));
  ir::Value* number = at.emit("Mod", {at.add(at.mul(position, slope), at.integer(salt)), at.integer(kPrime)});
  ir::Value* share = at.div(at.cast(number, DataType::kFloat), at.scalar(kPrime, DataType::kFloat));
  return at.reshape(share, sizes);
}

ir::Value* scaled(ir::Value* x, double factor, double offset, DataType type, const Emit& at) {
  const DataType of = DataType::kFloat;
  return at.cast(at.add(at.mul(x, at.scalar(factor, of)), at.scalar(offset, of)), type);
}

ir::Value* uniform_noise(const ir::Node& node, DataType type, int64_t salt, const Emit& at) {
  const double low = node.attribute_float("low", 0), high = node.attribute_float("high", 1);
  return scaled(scattered(node, salt, at), high - low, low, type, at);
}

// Of that mean and deviation, spread evenly: that of [0, 1) is 1 / sqrt(12).
ir::Value* normal_noise(const ir::Node& node, DataType type, int64_t salt, const Emit& at) {
  const double width = node.attribute_float("scale", 1) * std::sqrt(12.0);
  return scaled(scattered(node, salt, at), width, node.attribute_float("mean", 0) - width / 2, type, at);
}

ir::Value* bernoulli_noise(const ir::Node& node, DataType type, int64_t salt, const Emit& at) {
  ir::Value* likely = at.cast(node.input(0), DataType::kFloat);
  return at.cast(at.emit("Less", {scattered(node, salt, at), likely}), type);
}

}  // namespace

void add_random_ops(Registry& r) {
  using enum Role;
  const auto draws = [&r](std::string_view name, NoiseRule noise) {
    r.add({.name = name,
           .shape = random_rule,
           .op_class = OpClass::kGenerator,
           .attributes = {{"shape", kShape}},
           .axes = no_axes(kDraws),
           .deterministic = false,
           .noise = noise});
  };
  const auto draws_like = [&r](std::string_view name, NoiseRule noise) {
    r.add({.name = name,
           .shape = like_rule,
           .op_class = OpClass::kGenerator,
           .operands = {kShapeOnly},
           .axes = no_axes(kDraws),
           .deterministic = false,
           .noise = noise});
  };
  draws("RandomNormal", normal_noise);
  draws("RandomUniform", uniform_noise);
  draws_like("RandomNormalLike", normal_noise);
  draws_like("RandomUniformLike", uniform_noise);
  r.add({.name = "Bernoulli",
         .shape = like_rule,
         .op_class = OpClass::kElementwise,
         .batch = no_batch(kDraws),
         .deterministic = false,
         .noise = bernoulli_noise});
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
