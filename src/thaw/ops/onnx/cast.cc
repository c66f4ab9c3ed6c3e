// Cast, CastLike, BitCast. Values stay exact through the types that shape arithmetic uses: an integer cast to float and
// back is itself, a fraction cast to an integer loses its part after the point.
#include <string>

#include "thaw/core/ascii.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/element_math.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/value_range.h"

namespace thaw::ops {

using ir::DataType;

namespace {

Element to_bool(const Element& e) {
  Order o = compare(e, Element::integer(0));
  if (o.equal) return Element::integer(0);
  return o.differ ? Element::integer(1) : Element();
}

Element cast_element(const Element& e, DataType to) {
  if (to == DataType::kBool) return to_bool(e);
  if (ir::is_integer(to)) {
    Element whole = truncate(e);
    int bits = ir::bits_of(to);
    if (bits >= 32) return fit(whole, to);
    // Narrow types: plain numbers that are sure to fit.
    auto v = whole.as_int();
    return v && *v >= 0 && *v < (int64_t{1} << (bits - 1)) ? whole : Element();
  }
  if (to == DataType::kFloat || to == DataType::kDouble) return fit(e, to);
  if (to == DataType::kFloat16 || to == DataType::kBfloat16) {
    // Small whole numbers are exact in both; what is symbolic may not be.
    auto v = e.as_int();
    return v && *v >= -256 && *v <= 256 ? e : Element();
  }
  return {};
}

void cast_to(Context& ctx, DataType to) {
  shape_of_input(ctx, 0, 0, to);
  const Elements* list = ctx.elements(0);
  if (!list || to == DataType::kUndefined || ctx.input(0).dtype == DataType::kString) return;
  Elements out;
  out.reserve(list->size());
  for (const Element& e : *list) out.push_back(cast_element(e, to));
  ctx.set_elements(0, std::move(out));
}

void cast_rule(Context& ctx) {
  if (auto to = ctx.attr_int("to")) return cast_to(ctx, data_type_from_attr(*to));
  // Opset 1 names the type: "INT64".
  const std::string name = ascii::to_lower(ctx.attr_string("to", ""));
  cast_to(ctx, ir::data_type_from_name(name).value_or(DataType::kUndefined));
}

void cast_like_rule(Context& ctx) { cast_to(ctx, ctx.input(1).dtype); }

void bit_cast_rule(Context& ctx) {
  DataType from = ctx.input(0).dtype, to = data_type_from_attr(ctx.attr_int("to", 0));
  if (from != DataType::kUndefined && to != DataType::kUndefined && ir::bits_of(from) != ir::bits_of(to))
    ctx.invalid("BitCast needs two types of the same width");
  shape_of_input(ctx, 0, 0, to);
}

// The type is that of the other operand, in whichever form it is.
void batch_cast_like(BatchContext& n) {
  if (n.is_batched(1)) n.set_operand(1, n.is_merged(1) ? n.merged(1) : n.leading(1));
  if (n.is_batched(0)) n.keep_on(n.form_of(0));
}

void newer_cast(AdapterContext& n) {
  if (n.crosses(6)) throw NoEqual{"its type is written otherwise"};
}

}  // namespace

void add_cast_ops(Registry& r) {
  r.add({.name = "Cast",
         .shape = cast_rule,
         .op_class = OpClass::kElementwise,
         .range = range_cast,
         .newer = newer_cast,
         .evaluation = Evaluation::kByRule,
         .converts = true});
  r.add({.name = "CastLike",
         .shape = cast_like_rule,
         .op_class = OpClass::kElementwise,
         .range = range_cast,
         .operands = {Role::kData, Role::kTypeOnly},
         .axes = axes_by("... -> ..."),
         .batch = batch_with(batch_cast_like),
         .evaluation = Evaluation::kByRule,
         .converts = true});
  r.add({.name = "BitCast", .shape = bit_cast_rule, .op_class = OpClass::kElementwise});
}

}  // namespace thaw::ops
