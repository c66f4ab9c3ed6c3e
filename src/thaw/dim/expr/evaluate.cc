#include <limits>

#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/expr.h"
#include "thaw/dim/expr/program.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/expr/wide.h"

namespace thaw::dim {
namespace {

struct Evaluated {
  Outcome outcome = Outcome::kMissing;
  int64_t value = 0;
};

Evaluated value_of(int64_t value) { return {Outcome::kValue, value}; }
Evaluated failure(Outcome outcome) { return {outcome, 0}; }

// int64 without its lowest value, which is no Dim.
Evaluated checked(Wide value) {
  if (value <= std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max()) {
    return failure(Outcome::kOverflow);
  }
  return value_of(static_cast<int64_t>(value));
}

Evaluated evaluate_expr(const Expr& e, const Assignment& values);

Evaluated evaluate_operand(Dim d, const Assignment& values) {
  if (auto constant = d.constant()) return value_of(*constant);
  return d.is_symbolic() ? evaluate_expr(*d.expr(), values) : failure(Outcome::kMissing);
}

Evaluated apply(AtomKind kind, int64_t a, int64_t b) {
  switch (kind) {
    case AtomKind::kFloor:
      return b == 0 ? failure(Outcome::kUndefined) : value_of(floor_quotient(a, b));
    case AtomKind::kMin:
      return value_of(std::min(a, b));
    case AtomKind::kMax:
      return value_of(std::max(a, b));
    default:
      if (a == 1) return value_of(b);
      return b == 1 || a == b ? value_of(a) : failure(Outcome::kUndefined);
  }
}

Evaluated evaluate_atom(const Atom& atom, const Assignment& values) {
  if (atom.kind == AtomKind::kSymbol) {
    auto it = values.find(atom.symbol);
    return it == values.end() ? failure(Outcome::kMissing) : value_of(it->second);
  }
  Evaluated result = evaluate_operand(atom.operands[0], values);
  for (size_t i = 1; i < atom.operands.size() && result.outcome == Outcome::kValue; ++i) {
    const Evaluated next = evaluate_operand(atom.operands[i], values);
    if (next.outcome != Outcome::kValue) return next;
    result = apply(atom.kind, result.value, next.value);
  }
  return result;
}

Evaluated evaluate_expr(const Expr& e, const Assignment& values) {
  Wide total = e.constant;
  for (const Term& t : e.terms) {
    int64_t product = t.coef;
    for (const Factor& f : t.monomial->factors) {
      const Evaluated factor = evaluate_atom(*f.atom, values);
      if (factor.outcome != Outcome::kValue) return factor;
      for (int i = 0; i < f.power; ++i) {
        if (__builtin_mul_overflow(product, factor.value, &product)) return failure(Outcome::kOverflow);
      }
    }
    total += product;  // at most `budget` terms of 64 bits: no overflow of 128
  }
  return checked(total);
}

}  // namespace

std::optional<int64_t> evaluate(Dim d, const Assignment& values) {
  const Evaluated result = evaluate_operand(d, values);
  if (result.outcome != Outcome::kValue) return std::nullopt;
  return result.value;
}

}  // namespace thaw::dim
