#include "thaw/dim/prove/split.h"

#include <algorithm>

#include "thaw/dim/expr/range.h"
#include "thaw/dim/expr/substitute.h"
#include "thaw/dim/prove/solve.h"

namespace thaw::dim {
namespace {

constexpr int kMaxNestedSplits = 8;  // one in the cases of the other

// A min, max or broadcast with none inside; null where there is none.
const Atom* innermost(Dim d) {
  if (!d.is_symbolic()) return nullptr;
  for (const Term& t : d.expr()->terms) {
    for (const Factor& f : t.monomial->factors) {
      for (Dim operand : f.atom->operands) {
        if (const Atom* inner = innermost(operand)) return inner;
      }
      if (f.atom->kind != AtomKind::kSymbol && f.atom->kind != AtomKind::kFloor) return f.atom;
    }
  }
  return nullptr;
}

struct Situation {
  Statement statement;
  std::vector<Dim> facts;  // each is 0 or more
  bool impossible = false;
};

class Splitter {
 public:
  Splitter(Scope& scope, int& budget) : scope_(scope), budget_(budget) {}

  Decision run(const Statement& statement, int depth) {
    Situation s{{statement.relation, statement.a, statement.b, {}}, {}, false};
    for (const Dim fact : statement.given) add_fact(s, fact);
    return run(s, depth);
  }

  Decision run(const Situation& s, int depth) {
    if (s.impossible) return Decision::kAlways;
    if (--budget_ < 0 || s.statement.a.is_unknown() || s.statement.b.is_unknown()) return Decision::kOpen;
    const Decision decision = decide(s.statement, s.facts);
    if (decision != Decision::kOpen || depth >= kMaxNestedSplits) return decision;
    const Atom* atom = innermost(s.statement.a);
    if (atom == nullptr) atom = innermost(s.statement.b);
    if (atom == nullptr) return Decision::kOpen;
    const bool proven =
        atom->kind == AtomKind::kBroadcast ? split_broadcast(s, *atom, depth) : split_extremum(s, *atom, depth);
    return proven ? Decision::kAlways : Decision::kOpen;
  }

 private:
  bool split_extremum(const Situation& s, const Atom& atom, int depth) {
    const std::vector<Dim>& operands = atom.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      Situation next =
          replace(s, [&](const Atom& a) { return &a == &atom ? std::optional(operands[i]) : std::nullopt; });
      for (size_t j = 0; j < operands.size(); ++j) {
        if (j == i) continue;
        // The first of equal operands counts, so that the cases are apart.
        const Dim above = atom.kind == AtomKind::kMin ? operands[j] - operands[i] : operands[i] - operands[j];
        add_fact(next, j < i ? above - 1 : above);
      }
      if (run(next, depth + 1) != Decision::kAlways) return false;
    }
    return true;
  }

  bool split_broadcast(const Situation& s, const Atom& atom, int depth) {
    const Dim first = atom.operands[0];
    Dim others = 1;
    for (size_t i = 1; i < atom.operands.size(); ++i) others = broadcast(others, atom.operands[i]);
    const auto becomes = [&](Dim value) {
      return [&atom, value](const Atom& a) { return &a == &atom ? std::optional(value) : std::nullopt; };
    };
    if (run(assume_equal(replace(s, becomes(others)), first, 1), depth + 1) != Decision::kAlways) return false;
    if (run(assume_equal(replace(s, becomes(first)), others, 1), depth + 1) != Decision::kAlways) return false;
    return run(assume_equal(replace(s, becomes(first)), first, others), depth + 1) == Decision::kAlways;
  }

  // Symbols that the replacement has nothing to say about stay.
  template <typename Replace>
  Situation replace(const Situation& s, Replace replacement) {
    const Replacement complete = [&](const Atom& a) -> std::optional<Dim> {
      if (auto replaced = replacement(a)) return replaced;
      if (a.kind == AtomKind::kSymbol) return scope_.symbol_at(a.symbol);
      return std::nullopt;
    };
    Situation result{{s.statement.relation, rebuild(s.statement.a, complete), rebuild(s.statement.b, complete), {}},
                     {},
                     s.impossible};
    for (Dim fact : s.facts) add_fact(result, rebuild(fact, complete));
    return result;
  }

  // x == y: solved for a symbol, where that can be done.
  Situation assume_equal(Situation s, Dim x, Dim y) {
    if (!difference_bounds(x, y).contains(0)) s.impossible = true;
    std::vector<int> candidates = symbols_of(x);
    const std::vector<int> more = symbols_of(y);
    candidates.insert(candidates.end(), more.begin(), more.end());
    for (int id : candidates) {
      const auto value = solve_for(scope_.symbol_at(id), x, y);
      if (!value) continue;
      const Bounds bounds = symbol_bounds(scope_.symbols()[static_cast<size_t>(id)]);
      Situation solved = replace(s, [&](const Atom& a) { return a.symbol == id ? value : std::nullopt; });
      if (bounds.has_lower()) add_fact(solved, *value - bounds.lower);
      if (bounds.has_upper()) add_fact(solved, bounds.upper - *value);
      return solved;
    }
    add_fact(s, x - y);
    add_fact(s, y - x);
    return s;
  }

  static void add_fact(Situation& s, Dim fact) {
    if (fact.is_unknown() || bounds_of(fact).lower >= 0) return;
    s.impossible |= bounds_of(fact).upper < 0;
    for (Dim other : s.facts) s.impossible |= difference_bounds(fact, -other).upper < 0;
    s.facts.push_back(fact);
  }

  Scope& scope_;
  int& budget_;
};

}  // namespace

Decision decide_by_cases(const Statement& statement, int& budget) {
  Scope* scope = scope_of(statement.a.is_symbolic() ? statement.a : statement.b);
  if (scope == nullptr) return decide(statement);
  return Splitter(*scope, budget).run(statement, 0);
}

}  // namespace thaw::dim
