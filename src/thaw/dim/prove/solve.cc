#include "thaw/dim/prove/solve.h"

#include <algorithm>

#include "thaw/dim/expr/poly.h"
#include "thaw/dim/expr/range.h"

namespace thaw::dim {

std::optional<Dim> solve_for(Dim symbol, Dim lhs, Dim rhs) {
  Scope* scope = scope_of(symbol);
  if (scope == nullptr || scope->symbol_id(symbol) < 0) return std::nullopt;
  const Dim difference = lhs - rhs;
  if (!difference.is_symbolic() || difference.expr()->scope != scope) return std::nullopt;
  // difference = slope * symbol + rest
  const int id = scope->symbol_id(symbol);
  Scope::Impl& tables = scope->impl();
  Poly slope(tables);
  Poly rest(tables);
  rest.add_constant(difference.expr()->constant);
  for (const Term& t : difference.expr()->terms) {
    std::vector<Factor> others;
    int power = 0;
    for (const Factor& f : t.monomial->factors) {
      if (f.atom->symbol == id) {
        power = f.power;
        continue;
      }
      others.push_back(f);
      for (Dim operand : f.atom->operands) {
        const std::vector<int> inside = symbols_of(operand);
        if (std::binary_search(inside.begin(), inside.end(), id)) return std::nullopt;
      }
    }
    if (power > 1) return std::nullopt;
    if (power == 0) {
      rest.add_term(t.coef, t.monomial);
    } else if (others.empty()) {
      slope.add_constant(t.coef);
    } else {
      slope.add_term(t.coef, tables.monomial(others));
    }
  }
  const Dim divisor = slope.finish();
  if (divisor.is_unknown() || bounds_of(divisor).contains(0))
    return std::nullopt;  // where it is 0, any symbol would do
  return exact_div(-rest.finish(), divisor);
}

}  // namespace thaw::dim
