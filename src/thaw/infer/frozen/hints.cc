#include "thaw/infer/frozen/hints.h"

#include <algorithm>
#include <map>
#include <vector>

#include "thaw/dim/solve.h"

namespace thaw::infer {

using dim::Dim;

namespace {

constexpr size_t kEquationsPerSymbol = 32;
constexpr int64_t kLargestTried = 1 << 15;

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
    else if (!found.empty() && v > 2 * found.back() + 64) break;
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
std::optional<int64_t> best_value(Dim symbol, int id, std::span<const Equation> equations, const dim::Assignment& known) {
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

}  // namespace

dim::Assignment solve_hints(dim::Scope& scope, std::span<const ops::Obligation> obligations, dim::Assignment known) {
  // Equations by the one symbol in them that is not known yet; those with several wait for the others.
  std::vector<Equation> open;
  for (const ops::Obligation& o : obligations) {
    if (o.kind != ops::ObligationKind::kEqual && o.kind != ops::ObligationKind::kBroadcast) continue;
    Dim expression = o.a.is_symbolic() ? o.a : o.b, constant = o.a.is_symbolic() ? o.b : o.a;
    if (!expression.is_symbolic() || !constant.is_constant()) continue;
    int64_t value = *constant.constant();
    if (value > 1) open.push_back({expression, value});
  }
  for (bool progress = true; progress;) {
    progress = false;
    std::map<int, std::vector<Equation>> by_symbol;
    std::vector<Equation> waiting;
    for (const Equation& e : open) {
      std::vector<int> unknown;
      for (int id : dim::symbols_of(e.expression))
        if (!known.contains(id)) unknown.push_back(id);
      if (unknown.size() > 1) waiting.push_back(e);
      if (unknown.size() != 1) continue;
      auto& list = by_symbol[unknown.front()];
      if (list.size() < kEquationsPerSymbol) list.push_back(e);
    }
    for (const auto& [id, equations] : by_symbol) {
      if (auto value = best_value(scope.symbol_at(id), id, equations, known)) {
        known[id] = *value;
        progress = true;
      }
    }
    open = std::move(waiting);
  }
  return known;
}

}  // namespace thaw::infer
