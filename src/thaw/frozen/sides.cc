#include "thaw/frozen/sides.h"

#include <algorithm>

#include "thaw/dim/expr/expr.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::frozen {

using ops::Obligation;

std::optional<Sides> sides_of(const Obligation& o) {
  if (o.kind != dim::Relation::kEqual && o.kind != dim::Relation::kBroadcastable) return std::nullopt;
  if (o.a.is_symbolic() && o.b.is_constant()) return Sides{o.a, *o.b.constant(), o.input_b, o.axis_b};
  if (o.b.is_symbolic() && o.a.is_constant()) return Sides{o.b, *o.a.constant(), o.input_a, o.axis_a};
  return std::nullopt;
}

bool holds_remainder(dim::Dim d) {
  if (!d.is_symbolic() || !d.expr()->data_dependent) return false;
  for (const dim::Term& term : d.expr()->terms)
    for (const dim::Factor& factor : term.monomial->factors) {
      const dim::Atom& atom = *factor.atom;
      if (!atom.data_dependent || atom.kind == dim::AtomKind::kSymbol) continue;
      if (atom.kind == dim::AtomKind::kFloor && atom.operands[1].is_symbolic()) return true;
      if (std::ranges::any_of(atom.operands, holds_remainder)) return true;
    }
  return false;
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
