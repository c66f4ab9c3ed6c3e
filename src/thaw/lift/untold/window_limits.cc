#include "thaw/lift/untold/window_limits.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>

#include "thaw/lift/solve/floors.h"

namespace thaw::lifting {
namespace {

// The least of a variable from which on the size is as large, of a size that grows with it.
int64_t least_with(dim::Dim size, int64_t wanted, const Variable& v) {
  int64_t low = 0, high = std::ranges::min(v.at);
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const auto value = dim::evaluate(size, {{id_of(v), middle}});
    (value && *value >= wanted ? high : low) = middle;
  }
  return high;
}

// Whether a Pad adds sizes along two axes or more.
bool pads_a_grid(const ops::Shape& amounts) {
  std::set<size_t> axes;
  for (size_t i = 0; i < amounts.size(); ++i)
    if (amounts[i].is_symbolic()) axes.insert(i % std::max<size_t>(amounts.size() / 2, 1));
  return axes.size() > 1;
}

std::vector<dim::Dim> amounts_of_windows(const Lifting& l) {
  const auto is_kernel = [](const ir::Use& use) { return !use.node->attribute_ints("strides").empty(); };
  std::vector<dim::Dim> amounts;
  for (const FittedTable& table : l.tables)
    for (const Difference* reader : table.readers)
      if (!table.padded.empty() && pads_a_grid(table.fit.sizes) &&
          std::ranges::none_of(reader->node->output(0)->uses(), is_kernel))
        std::ranges::copy(table.fit.sizes, std::back_inserter(amounts));
  return amounts;
}

}  // namespace

std::vector<Limit> window_limits(std::span<const dim::Dim> emitted, std::span<const dim::Dim> filled,
                                 std::span<const int64_t> loops, std::span<const Variable> variables) {
  std::unordered_set<const dim::Atom*> in_filled, known;
  for (const dim::Dim size : filled) for_each_floor(size, [&](const dim::Atom& floor) { in_filled.insert(&floor); });
  std::vector<Limit> limits;
  const auto add = [&](dim::Dim axis, int64_t window) {
    const std::vector<int64_t> at = in_traces(axis, variables);
    if (at.empty() || std::ranges::min(at) < window) return;
    const std::vector<int> symbols = dim::symbols_of(axis);
    for (const Variable& v : variables) {
      if (symbols != std::vector<int>{id_of(v)}) continue;
      // Of several windows the longest for the axis says it all.
      const int64_t least = least_with(axis, window, v);
      const auto other =
          std::ranges::find_if(limits, [&](const Limit& limit) { return dim::same(limit.most, v.symbol); });
      if (other == limits.end()) return limits.push_back({least, v.symbol, Limit::Of::kWindow});
      other->size = std::max(*other->size.constant(), least);
      return;
    }
    limits.push_back({window, axis, Limit::Of::kWindow});
  };
  // 7 * ceil(n / 28) are windows of 7, of a quarter of the axis. Of a stride alone there are as many, and no more of it.
  const auto add_windows = [&](const dim::Term& term, const dim::Atom& floor) {
    const auto divisor = floor.operands[1].constant();
    if (!divisor || *divisor < 2 || !floor.operands[0].is_symbolic()) return;
    const int64_t window = std::gcd(term.coef, *divisor), rounded = dim::constant_of(floor.operands[0]);
    const bool is_up = window > 1 && rounded == *divisor - 1 && in_filled.contains(&floor);
    if (is_up && known.insert(&floor).second && std::ranges::find(loops, window) == loops.end())
      add(dim::ceil_div(floor.operands[0] - dim::Dim(rounded), *divisor / window), window);
  };
  for (const dim::Dim size : emitted)
    for (const dim::Term& term : size.is_symbolic() ? size.expr()->terms : std::vector<dim::Term>())
      for (const dim::Factor& factor : term.monomial->factors)
        if (factor.atom->kind == dim::AtomKind::kFloor) add_windows(term, *factor.atom);
  return limits;
}

std::vector<Limit> window_limits(const Lifting& l) {
  std::vector<int64_t> loops;
  for (const WindowLoops& each : l.windows)
    if (each.size) loops.push_back(*each.size);
  std::vector<dim::Dim> filled = amounts_of_windows(l);
  std::ranges::copy(l.solver->guessed(), std::back_inserter(filled));
  return window_limits(l.sizes->emitted(), filled, loops, l.variables);
}

}  // namespace thaw::lifting
