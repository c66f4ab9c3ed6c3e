#include "thaw/run/size_conditions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "thaw/dim/prove/solve.h"

namespace thaw::run {
namespace {

using dim::Assignment;
using dim::Dim;
using dim::Relation;

constexpr size_t kMostConditions = 4096;
constexpr size_t kMostSteps = 256;
constexpr int64_t kNearby = 512;                // sizes on either side that are all tried
constexpr int64_t kLargest = int64_t{1} << 22;  // beyond them each twice as large, up to here

bool is_of_inputs(const dim::Scope& scope, const std::vector<int>& symbols) {
  return std::ranges::all_of(symbols, [&](int id) {
    const dim::SymbolKind kind = scope.symbols()[static_cast<size_t>(id)].kind;
    return kind == dim::SymbolKind::kInputDim || kind == dim::SymbolKind::kInputValue;
  });
}

}  // namespace

SizeConditions::SizeConditions(std::span<const SizeCondition> conditions) {
  // A Dim is one pointer for one expression.
  std::set<std::tuple<Relation, const dim::Expr*, int64_t, const dim::Expr*, int64_t>> seen;
  std::set<int> values;
  for (const SizeCondition& condition : conditions) {
    const auto& [relation, a, b] = condition;
    if (conditions_.size() == kMostConditions) break;
    const dim::Scope* scope = dim::scope_of(a) != nullptr ? dim::scope_of(a) : dim::scope_of(b);
    if (scope == nullptr || a.is_unknown() || b.is_unknown()) continue;
    if (!seen.emplace(relation, a.expr(), a.constant().value_or(0), b.expr(), b.constant().value_or(0)).second)
      continue;
    std::vector<int> symbols = dim::symbols_of(a);
    for (const int id : dim::symbols_of(b))
      if (std::ranges::find(symbols, id) == symbols.end()) symbols.push_back(id);
    if (!is_of_inputs(*scope, symbols)) continue;
    scope_ = scope;
    for (const int id : symbols) {
      of_symbol_[id].push_back(conditions_.size());
      if (scope->symbols()[static_cast<size_t>(id)].kind == dim::SymbolKind::kInputValue) values.insert(id);
    }
    conditions_.push_back({condition, std::move(symbols)});
  }
  values_.assign(values.begin(), values.end());
}

// One that has no value, for want of a symbol's or as it is undefined, is not counted as broken.
bool SizeConditions::holds(const SizeCondition& condition, const Assignment& sizes) {
  return dim::holds(condition.relation, condition.a, condition.b, sizes).value_or(true);
}

size_t SizeConditions::broken(const std::vector<size_t>& which, const Assignment& sizes) const {
  return static_cast<size_t>(
      std::ranges::count_if(which, [&](size_t i) { return !holds(conditions_[i].what, sizes); }));
}

// Sizes of one symbol at which the condition holds: where it can be solved, what solves it, and the nearest ones.
std::vector<int64_t> SizeConditions::repairs(const SizeCondition& condition, int symbol,
                                             const Assignment& sizes) const {
  std::vector<int64_t> found;
  if (condition.relation == Relation::kEqual || condition.relation == Relation::kBroadcastable) {
    const auto solved = dim::solve_for(scope_->symbol_at(symbol), condition.a, condition.b);
    const auto value = solved ? dim::evaluate(*solved, sizes) : std::nullopt;
    if (value && *value >= 1) found.push_back(*value);
  }
  Assignment trial = sizes;
  const int64_t now = sizes.at(symbol);
  const auto fits = [&](int64_t value) {
    trial[symbol] = value;
    return holds(condition, trial);
  };
  for (int64_t away = 1; away <= kNearby; ++away) {
    for (const int64_t value : {now + away, now - away}) {
      if (value < 1 || !fits(value)) continue;
      found.push_back(value);
      return found;
    }
  }
  for (int64_t value = 2 * std::max(now, kNearby); value <= kLargest; value *= 2) {
    if (!fits(value)) continue;
    found.push_back(value);
    break;
  }
  return found;
}

bool SizeConditions::fit(Assignment& sizes, const std::vector<int>& movable) const {
  std::set<size_t> given_up;
  std::set<std::pair<int, int64_t>> tried;
  std::set<int> moved;
  for (size_t step = 0; step < kMostSteps; ++step) {
    size_t at = 0;
    while (at < conditions_.size() && (given_up.contains(at) || holds(conditions_[at].what, sizes))) ++at;
    if (at == conditions_.size()) break;
    // The fewest broken conditions first, then a symbol that nothing has moved yet, then the smallest step.
    std::optional<std::tuple<size_t, bool, int64_t, int, int64_t>> best;
    for (const int symbol : conditions_[at].symbols) {
      if (std::ranges::find(movable, symbol) == movable.end()) continue;
      for (const int64_t value : repairs(conditions_[at].what, symbol, sizes)) {
        if (tried.contains({symbol, value})) continue;
        Assignment trial = sizes;
        trial[symbol] = value;
        const std::tuple candidate{broken(of_symbol_.at(symbol), trial), moved.contains(symbol),
                                   std::abs(value - sizes.at(symbol)), symbol, value};
        if (!best || candidate < *best) best = candidate;
      }
    }
    if (!best) {
      given_up.insert(at);
      continue;
    }
    const auto [left, again, distance, symbol, value] = *best;
    sizes[symbol] = value;
    tried.emplace(symbol, value);
    moved.insert(symbol);
  }
  return std::ranges::all_of(conditions_, [&](const Condition& c) { return holds(c.what, sizes); });
}

}  // namespace thaw::run
