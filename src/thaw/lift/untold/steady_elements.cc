#include "thaw/lift/untold/steady_elements.h"

#include <algorithm>
#include <vector>

#include "thaw/lift/term/numbers.h"

namespace thaw::lifting {
namespace {

// The one side of an input that it is computed of.
const Variable* side_of(dim::Dim size, const std::vector<Variable>& variables) {
  if (!size.is_symbolic()) return nullptr;
  const std::vector<int> symbols = dim::symbols_of(size);
  const auto own = std::ranges::find_if(variables, [&](const Variable& v) {
    return v.kind == Variable::Kind::kDim && v.varies() && std::ranges::count(symbols, id_of(v)) == std::ssize(symbols);
  });
  return own == variables.end() ? nullptr : &*own;
}

}  // namespace

void add_steady_elements(Domain& domain, const Written& written) {
  const Lifting& l = written.lifting;
  for (const FittedTable& table : l.tables) {
    std::vector<dim::Dim> sizes = table.fit.sizes;
    for (const Undecided& open : domain.undecided)
      if (std::ranges::any_of(table.fit.sizes, [&](dim::Dim size) { return dim::same(size, open.chosen); }))
        sizes.push_back(open.other);
    for (const dim::Dim size : sizes) {
      const Variable* side = side_of(size, l.variables);
      for (const Variable& other : l.variables) {
        if (!side || &other == side || other.input != side->input || other.kind != side->kind || !other.varies())
          continue;
        const dim::Dim alike = dim::substitute(size, {{id_of(*side), other.symbol}});
        const std::vector<int64_t> at = in_traces(alike, l.variables);
        const bool is_steady = !at.empty() && at.front() > 1 && all_equal(at);
        const auto is_it = [&](dim::Dim element) { return element.is_constant(at.front()); };
        if (is_steady && std::ranges::any_of(table.fit.sizes, is_it))
          add_undecided(domain, {alike, dim::Dim(at.front()), ""});
      }
    }
  }
}

}  // namespace thaw::lifting
