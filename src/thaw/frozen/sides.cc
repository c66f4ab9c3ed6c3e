#include "thaw/frozen/sides.h"

#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {

using ops::Obligation;
using ops::ObligationKind;

std::optional<Sides> sides_of(const Obligation& o) {
  if (o.kind != ObligationKind::kEqual && o.kind != ObligationKind::kBroadcast) return std::nullopt;
  if (o.a.is_symbolic() && o.b.is_constant()) return Sides{o.a, *o.b.constant(), o.input_b, o.axis_b};
  if (o.b.is_symbolic() && o.a.is_constant()) return Sides{o.b, *o.a.constant(), o.input_a, o.axis_a};
  return std::nullopt;
}

bool is_own_number(const Obligation& o, const Sides& sides) {
  return sides.input < 0 && (o.input_a >= 0 || o.input_b >= 0);
}

bool comes_from_nothing(SourceTracer& tracer, const Obligation& o, const Sides& sides) {
  const ir::Value* operand = sides.input >= 0 && sides.constant > 1 ? o.node->input(sides.input) : nullptr;
  if (!operand || operand->constant() || !operand->producer()) return false;
  if (ops::holds_size(ops::role_of(*o.node, sides.input))) return false;
  return tracer.of_dim(*o.node, *operand, sides.constant).empty();
}

}  // namespace thaw::frozen
