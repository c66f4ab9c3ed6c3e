#include "thaw/lift/index_limits.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/solve/floors.h"
#include "thaw/lift/steady_sizes.h"
#include "thaw/lift/unseen_sizes.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

std::vector<Limit> index_limits(const ir::Model& lifted, std::span<const Variable> variables, dim::Scope& scope) {
  constexpr int64_t kFarTimes = 4096;
  std::vector<Limit> limits;
  if (variables.empty()) return limits;
  dim::Scope own;
  std::vector<dim::Dim> symbols;
  for (const Variable& v : variables) {
    symbols.push_back(own.symbol(dim::to_string(v.symbol)));
    if (std::ranges::min(v.at) > 0) own.assume_range(symbols.back(), 1, std::nullopt);
  }
  infer::InferOptions options;
  options.states_values = true;
  const infer::Result facts = infer::infer(lifted, own, options);
  const auto holds_at = [&](const ops::Obligation& need, const std::function<int64_t(size_t)>& value_of) {
    dim::Assignment at;
    for (size_t i = 0; i < symbols.size(); ++i) at[own.symbol_id(symbols[i])] = value_of(i);
    return dim::holds(need.kind, need.a, need.b, at);
  };
  for (const ops::Obligation& need : facts.obligations()) {
    if (need.kind != dim::Relation::kAtMost || need.input_a < 0 || need.is_enough || need.only_specified) continue;
    if (ops::role_of(*need.node, need.input_a) != ops::Role::kIndex) continue;
    bool is_met = true, is_missed = false;  // nothing is said of what inputs hold
    for (size_t k = 0; k < variables.front().at.size() && is_met; ++k)
      is_met = holds_at(need, [&](size_t i) { return variables[i].at[k]; }) == true;
    for (int64_t times = 1; is_met && times <= kFarTimes && !is_missed; times *= 2)
      is_missed = holds_at(need, [&](size_t i) { return std::ranges::max(variables[i].at) * times; }) == false;
    if (!is_missed) continue;
    const auto size = dim::try_parse(dim::to_string(need.a), scope),
               most = dim::try_parse(dim::to_string(need.b), scope);
    if (size && most) limits.push_back({*size, *most});
  }
  return limits;
}

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

}  // namespace

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

std::vector<Limit> sign_limits(const Lifting& l) {
  const auto assignments = [&](bool from_one) {
    std::vector<std::vector<int64_t>> sizes = l.solver->unseen();
    std::ranges::move(extreme_sizes(l.variables, from_one), std::back_inserter(sizes));
    std::vector<dim::Assignment> all;
    for (const std::vector<int64_t>& each : sizes) all.push_back(assignment_at(l.variables, each));
    return all;
  };
  const std::vector<dim::Assignment> larger = assignments(false), any = assignments(true);
  std::vector<Limit> limits;
  std::set<std::pair<const dim::Expr*, bool>> seen;
  for (const FittedTable& table : l.tables) {
    bool pads = false, takes = false;
    for (const Difference* reader : table.readers) {
      const ops::Role role = ops::role_of(*reader->node, reader->input);
      pads |= role == ops::Role::kPads;
      takes |= ops::holds_size(role);
    }
    if (!takes) continue;
    for (const dim::Dim size : table.fit.sizes) {
      if (!size.is_symbolic() || !seen.emplace(size.expr(), pads).second) continue;
      const std::vector<int64_t> at = in_traces(size, l.variables);
      if (at.empty() || std::ranges::min(at) < 0) continue;
      const auto is_below = [&](const dim::Assignment& sizes) {
        const auto value = dim::evaluate(size, sizes);
        return value && *value < 0;
      };
      if (std::ranges::any_of(pads ? any : larger, is_below)) limits.push_back({dim::Dim(0), size, Limit::Of::kSign});
    }
  }
  return limits;
}

std::vector<Limit> length_limits(std::span<const dim::Dim> lengths, std::span<const Variable> variables) {
  std::vector<Limit> limits;
  dim::Scope own;
  for (const Variable& v : variables) {
    const int64_t least = std::ranges::min(v.at);
    const bool is_value = v.kind == Variable::Kind::kValue;
    own.assume_range(is_value ? own.input_value(v.input, v.index) : own.symbol(dim::to_string(v.symbol)), least,
                     std::nullopt);
  }
  for (const dim::Dim length : lengths) {
    const auto size = length.is_symbolic() ? dim::try_parse(dim::to_string(length), own) : std::nullopt;
    if (size && dim::prove_at_most(dim::Dim(0), *size).verdict != dim::Verdict::kYes)
      limits.push_back({dim::Dim(0), length});
  }
  return limits;
}

}  // namespace thaw::lifting
