#include "thaw/frozen/assumed_sizes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "thaw/dim/prove/solve.h"

namespace thaw::frozen {

using dim::Dim;

namespace {

constexpr size_t kEquationsPerSymbol = 32;
constexpr int64_t kLargestTried = 1 << 15;
constexpr int64_t kLargestContent = 64;

struct Equation {
  Dim expression;
  int64_t value;
};

// The values that a symbol could have by one equation.
std::vector<int64_t> solutions(Dim symbol, int id, const Equation& equation, const dim::Assignment& known) {
  if (auto solved = dim::solve_for(symbol, equation.expression, equation.value))
    if (auto value = dim::evaluate(*solved, known)) return {*value};
  std::vector<int64_t> found;
  dim::Assignment trial = known;
  for (int64_t v = 1; v <= kLargestTried; ++v) {
    trial[id] = v;
    if (dim::evaluate(equation.expression, trial) == equation.value) found.push_back(v);
    // Sizes grow with the input: once an expression has passed the value by far it does not come back.
    else if (!found.empty() && v > 2 * found.back() + 64)
      break;
  }
  return found;
}

int twos(int64_t v) {
  int count = 0;
  while (v != 0 && v % 2 == 0 && count < 10) {
    v /= 2;
    ++count;
  }
  return count;
}

// The value that most equations admit; among equals the one that is the roundest number in base two, as sizes are.
std::optional<int64_t> best_value(Dim symbol, int id, std::span<const Equation> equations,
                                  const dim::Assignment& known) {
  std::vector<int64_t> candidates;
  for (size_t i = 0; i < equations.size() && i < 4; ++i)
    for (int64_t v : solutions(symbol, id, equations[i], known)) candidates.push_back(v);
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::optional<int64_t> best;
  int best_score = 0;
  dim::Assignment trial = known;
  for (int64_t v : candidates) {
    trial[id] = v;
    int score = 0;
    for (const Equation& e : equations) score += dim::evaluate(e.expression, trial) == e.value ? 16 : 0;
    if (score == 0) continue;
    score += twos(v);
    if (score > best_score) {
      best = v;
      best_score = score;
    }
  }
  return best;
}

// The equations that obligations make: an expression and the constant, or the other expression where that is known.
std::vector<Equation> equations_of(std::span<const ops::Obligation> obligations, const dim::Assignment& known) {
  std::vector<Equation> out;
  for (const ops::Obligation& o : obligations) {
    if (o.kind != dim::Relation::kEqual && o.kind != dim::Relation::kBroadcastable) continue;
    auto a = dim::evaluate(o.a, known), b = dim::evaluate(o.b, known);
    if (a.has_value() == b.has_value()) continue;
    int64_t value = a ? *a : *b;
    // A broadcast with 1 says nothing.
    if (value > 1 || (value == 1 && o.kind == dim::Relation::kEqual)) out.push_back({a ? o.b : o.a, value});
  }
  return out;
}

std::vector<int> unknown_symbols(Dim expression, const dim::Assignment& known) {
  std::vector<int> out;
  for (int id : dim::symbols_of(expression))
    if (!known.contains(id)) out.push_back(id);
  return out;
}

// Values for two or three symbols that satisfy one equation, nearest to each other; nullopt where none was found.
std::optional<dim::Assignment> split_product(const Equation& e, const std::vector<int>& unknown,
                                             const dim::Assignment& known) {
  auto satisfies = [&](const dim::Assignment& trial) { return dim::evaluate(e.expression, trial) == e.value; };
  dim::Assignment trial = known;
  for (int64_t v = 1; v <= 4096; ++v) {
    for (int id : unknown) trial[id] = v;
    if (satisfies(trial)) return trial;
  }
  // Of three sizes the first (images, frames) is taken to be 1.
  for (size_t i = 0; i + 2 < unknown.size(); ++i) trial[unknown[i]] = 1;
  int x = unknown[unknown.size() - 2], y = unknown.back();
  // Factors near each other, even ones first; then multiples of factors, where strides or patches divide the sizes. A
  // factor of the expression (12*b*s = 264) is found by trying.
  for (int64_t content = 1; content <= kLargestContent; ++content) {
    if (e.value % content != 0) continue;
    const int64_t value = e.value / content;
    int64_t root = 1;
    while ((root + 1) * (root + 1) <= value) ++root;
    for (int64_t step : {2, 1}) {
      for (int64_t d = root; d >= 1; --d) {
        if (value % d != 0 || d % step != 0 || (value / d) % step != 0) continue;
        for (int64_t scale : {1, 2, 4, 8, 14, 16, 28, 32, 64}) {
          trial[x] = d * scale;
          trial[y] = value / d * scale;
          if (satisfies(trial)) return trial;
        }
      }
    }
  }
  return std::nullopt;
}

// One round: symbols that are alone in some equation. True if there was one.
bool solve_single(dim::Scope& scope, std::span<const Equation> open, AssumedSizes& known) {
  std::map<int, std::vector<Equation>> by_symbol;
  for (const Equation& e : open) {
    auto unknown = unknown_symbols(e.expression, known.values);
    if (unknown.size() != 1) continue;
    auto& list = by_symbol[unknown.front()];
    if (list.size() < kEquationsPerSymbol) list.push_back(e);
  }
  bool progress = false;
  for (const auto& [id, equations] : by_symbol) {
    if (auto value = best_value(scope.symbol_at(id), id, equations, known.values)) {
      known.values[id] = *value;
      progress = true;
    }
  }
  return progress;
}

bool solve_product(std::span<const Equation> open, AssumedSizes& known) {
  for (const Equation& e : open) {
    auto unknown = unknown_symbols(e.expression, known.values);
    if (unknown.size() < 2 || unknown.size() > 3 || e.value > kLargestTried) continue;
    if (auto values = split_product(e, unknown, known.values)) {
      known.values = std::move(*values);
      known.guessed.insert(unknown.begin(), unknown.end());
      return true;
    }
  }
  return false;
}

// Statements that hold at the assumed sizes, and may not at other values of their symbols.
class Alternatives {
 public:
  Alternatives(std::span<const ops::Obligation> obligations, const AssumedSizes& assumed_sizes)
      : assumed_sizes_(assumed_sizes) {
    std::set<std::pair<const dim::Expr*, const dim::Expr*>> seen;
    for (const ops::Obligation& o : obligations) {
      if (o.kind != dim::Relation::kEqual && o.kind != dim::Relation::kBroadcastable) continue;
      const auto a = dim::evaluate(o.a, assumed_sizes.values), b = dim::evaluate(o.b, assumed_sizes.values);
      // A number is the one that the other side comes to, so that it needs no position among what was seen.
      if (!a || a != b || !seen.emplace(o.a.expr(), o.b.expr()).second) continue;
      held_.push_back({o.a, o.b});
    }
  }

  // The nearest values of one symbol below and above that go as well, or the other symbol's that go with them.
  void vary(int x, std::optional<int> y) {
    const int64_t now = assumed_sizes_.values.at(x);
    if (now > kLargestVaried || (y && assumed_sizes_.values.at(*y) > kLargestVaried)) return;
    for (int64_t away = 1; away <= kNearby; ++away)
      for (const int64_t value : {now + away, now - away}) try_value(x, value, y);
    for (int64_t factor = 2; factor <= kNearby; ++factor) {
      try_value(x, now * factor, y);
      if (now % factor == 0) try_value(x, now / factor, y);
    }
  }

  std::vector<dim::Assignment> take() { return std::move(found_); }

 private:
  static constexpr size_t kMostFound = 12;
  static constexpr int64_t kNearby = 48;
  static constexpr int64_t kLargestVaried = int64_t{1} << 31;  // what two of them make together fits

  bool holds(const dim::Assignment& trial) const {
    return std::ranges::all_of(held_, [&](const auto& sides) {
      const auto a = dim::evaluate(sides.first, trial), b = dim::evaluate(sides.second, trial);
      return a && a == b;
    });
  }

  void try_value(int x, int64_t value, std::optional<int> y) {
    if (value < 1 || found_.size() == kMostFound) return;
    dim::Assignment trial = assumed_sizes_.values;
    trial[x] = value;
    if (!y) {
      if (holds(trial)) found_.push_back(std::move(trial));
      return;
    }
    // What they make together stays about the same.
    const int64_t other = assumed_sizes_.values.at(*y) * assumed_sizes_.values.at(x) / value;
    for (int64_t near = std::max<int64_t>(1, other - 8); near <= other + 8; ++near) {
      trial[*y] = near;
      // The same two the other way round: the order of the axes tells them apart.
      if (value == assumed_sizes_.values.at(*y) && near == assumed_sizes_.values.at(x)) continue;
      if (!holds(trial)) continue;
      found_.push_back(std::move(trial));
      return;
    }
  }

  const AssumedSizes& assumed_sizes_;
  std::vector<std::pair<Dim, Dim>> held_;
  std::vector<dim::Assignment> found_;
};

}  // namespace

ops::Obligation without_common_sizes(const ops::Obligation& obligation) {
  ops::Obligation reduced = obligation;
  if (obligation.kind != dim::Relation::kEqual || !reduced.a.is_symbolic() || !reduced.b.is_symbolic()) return reduced;
  for (const int id : dim::symbols_of(obligation.a)) {
    const Dim symbol = dim::scope_of(obligation.a)->symbol_at(id);
    while (reduced.a.is_symbolic() && reduced.b.is_symbolic()) {
      const auto a = dim::exact_div(reduced.a, symbol), b = dim::exact_div(reduced.b, symbol);
      if (!a || !b) break;
      reduced.a = *a;
      reduced.b = *b;
    }
  }
  return reduced;
}

std::vector<dim::Assignment> other_solutions(std::span<const ops::Obligation> obligations,
                                             const AssumedSizes& assumed_sizes) {
  Alternatives others(obligations, assumed_sizes);
  std::vector<int> open;
  for (const auto& [id, value] : assumed_sizes.values) open.push_back(id);
  std::ranges::sort(open);
  for (const int id : open) others.vary(id, std::nullopt);
  for (size_t i = 0; i < open.size(); ++i)
    for (size_t k = i + 1; k < open.size(); ++k)
      if (assumed_sizes.guessed.contains(open[i]) && assumed_sizes.guessed.contains(open[k]))
        others.vary(open[i], open[k]);
  return others.take();
}

AssumedSizes solve_assumed_sizes(dim::Scope& scope, std::span<const ops::Obligation> obligations, AssumedSizes known) {
  // Each round solves at least one symbol.
  for (size_t round = 0; round <= scope.symbols().size(); ++round) {
    std::vector<Equation> open = equations_of(obligations, known.values);
    if (!solve_single(scope, open, known) && !solve_product(open, known)) break;
  }
  return known;
}

}  // namespace thaw::frozen
