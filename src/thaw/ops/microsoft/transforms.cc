// Operators of com.microsoft that see a whole signal, matrix or vector at once: Rfft, Irfft, Inverse, CDist,
// IsAllFinite.
#include <string>

#include "thaw/ops/microsoft/same_shape.h"
#include "thaw/ops/microsoft/standard.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

// The last axis of n real numbers becomes n / 2 + 1 complex ones, as pairs.
void rfft_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() < 1) return ctx.set_tensor(0, x.dtype, std::nullopt);
  Shape out = *x.shape;
  if (ctx.attr_int("signal_ndim", 1) == 1)
    out.back() = dim::floor_div(out.back(), 2) + 1;
  else
    out.back() = Dim();
  out.push_back(2);
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void irfft_rule(Context& ctx) {
  const Fact& x = ctx.input(0);
  if (!x.has_rank() || x.rank() < 2) return ctx.set_tensor(0, x.dtype, std::nullopt);
  Shape out(x.shape->begin(), x.shape->end() - 1);
  out.back() = ctx.attr_int("signal_ndim", 1) == 1 ? (out.back() - 1) * 2 : Dim();
  ctx.set_tensor(0, x.dtype, std::move(out));
}

void inverse_rule(Context& ctx) {
  keep_shape(ctx);
  const Fact& x = ctx.input(0);
  if (!x.has_rank()) return;
  int rank = x.rank();
  if (rank < 2) return ctx.invalid("Inverse needs matrices, not rank " + std::to_string(rank));
  ctx.require_equal(x.dim(rank - 2), x.dim(rank - 1), "sides of Inverse's square matrices", {0, rank - 2},
                    {0, rank - 1});
}

void cdist_rule(Context& ctx) {
  const Fact &a = ctx.input(0), &b = ctx.input(1);
  if (a.rank() == 2 && b.rank() == 2) ctx.require_equal(a.dim(1), b.dim(1), "CDist's vectors", {0, 1}, {1, 1});
  ctx.set_tensor(0, a.dtype, Shape{a.rank() == 2 ? a.dim(0) : Dim(), b.rank() == 2 ? b.dim(0) : Dim()});
}

void scalar_bool_rule(Context& ctx) { ctx.set_tensor(0, DataType::kBool, Shape{}); }

// The last axes are the signal's, so many; complex numbers are pairs in one more.
std::optional<AxesMap> transform_axes(NodeView& view, std::span<const std::string_view> patterns) {
  const int64_t axes = view.attr_int("signal_ndim", 1);
  if (axes < 1 || axes > std::ssize(patterns)) return std::nullopt;
  return match_axes(patterns[static_cast<size_t>(axes - 1)], view);
}

std::optional<AxesMap> rfft_axes(NodeView& view) {
  constexpr std::string_view kPatterns[] = {"... x~ -> ... x~ c", "... y~ x~ -> ... y~ x~ c",
                                            "... z~ y~ x~ -> ... z~ y~ x~ c"};
  return transform_axes(view, kPatterns);
}

std::optional<AxesMap> irfft_axes(NodeView& view) {
  constexpr std::string_view kPatterns[] = {"... x~ c~ -> ... x~", "... y~ x~ c~ -> ... y~ x~",
                                            "... z~ y~ x~ c~ -> ... z~ y~ x~"};
  return transform_axes(view, kPatterns);
}

}  // namespace

void add_microsoft_transform_ops(Registry& r) {
  r.add({.domain = kMicrosoft, .name = "Rfft", .shape = rfft_rule, .axes = axes_by(rfft_axes)});
  r.add({.domain = kMicrosoft, .name = "Irfft", .shape = irfft_rule, .axes = axes_by(irfft_axes)});
  r.add({.domain = kMicrosoft, .name = "Inverse", .shape = inverse_rule, .axes = axes_by("... i~ j~ -> ... i~ j~")});
  r.add({.domain = kMicrosoft,
         .name = "CDist",
         .shape = cdist_rule,
         .op_class = OpClass::kContraction,
         .axes = axes_by("i d~, j d~ -> i j"),
         .standard = standard_distances});
  r.add({.domain = kMicrosoft,
         .name = "IsAllFinite",
         .shape = scalar_bool_rule,
         .op_class = OpClass::kReduction,
         .axes = no_axes("it looks at all its operands at once, all samples together")});
}

}  // namespace thaw::ops
