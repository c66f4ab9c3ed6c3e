// The prover against brute force: pairs of expressions over two symbols on small domains. Its verdict is the one that
// all points agree on, its counterexample is the smallest; and what each of its methods claims by itself holds at all
// points.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/prove/residues.h"
#include "thaw/dim/prove/search.h"
#include "thaw/dim/prove/split.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

using testing::Tree;
using testing::TreePtr;

struct Axes {
  const char* name;
  SymbolKind kind;
  int64_t lower, upper;
  int64_t modulus[2], remainder[2];
};

constexpr Axes kDomains[] = {
    {"sizes from 0", SymbolKind::kInputDim, 0, 9, {1, 1}, {0, 0}},
    {"sizes from 1", SymbolKind::kInputDim, 1, 10, {1, 1}, {0, 0}},
    {"values", SymbolKind::kInputValue, -6, 6, {1, 1}, {0, 0}},
    {"steps", SymbolKind::kInputDim, 0, 40, {4, 6}, {0, 1}},
    {"mixed", SymbolKind::kInputValue, -12, 24, {3, 8}, {2, 0}},
};
constexpr Relation kRelations[] = {Relation::kEqual, Relation::kAtMost, Relation::kDivisible, Relation::kBroadcastable};

class TreeMaker {
 public:
  explicit TreeMaker(uint32_t seed) : random_(seed) {}

  TreePtr make(int operations) {
    if (operations == 0) {
      if (pick(5) < 3) return testing::leaf_symbol(pick(2));
      constexpr int64_t kConstants[] = {1, 2, 3, 4, 6, 8, -1, 0, 5};
      return testing::leaf_constant(kConstants[pick(9)]);
    }
    const int left = pick(operations);
    TreePtr a = make(left);
    TreePtr b = make(operations - 1 - left);
    const auto kind = testing::kOperations[pick(9)];
    // Constant divisors are what models have.
    const bool divides = kind == Tree::Kind::kFloorDiv || kind == Tree::Kind::kCeilDiv || kind == Tree::Kind::kMod;
    if (divides && pick(4) != 0) b = testing::leaf_constant(1 + pick(8));
    return testing::node(kind, std::move(a), std::move(b));
  }

  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }

 private:
  std::mt19937 random_;
};

struct Truth {
  bool any_defined = false;
  bool any_holds = false;
  bool all_hold = true;
  std::vector<int64_t> smallest;  // that breaks it
};

class SmallDomain {
 public:
  explicit SmallDomain(const Axes& axes) {
    for (int s = 0; s < 2; ++s) {
      symbols_.push_back(scope_.fresh(s == 0 ? "a" : "b", axes.kind));
      scope_.assume_range(symbols_.back(), axes.lower, axes.upper);
      scope_.assume_divisible(symbols_.back(), axes.modulus[s], axes.remainder[s]);
      values_[s].clear();
      for (int64_t v = axes.lower; v <= axes.upper; ++v) {
        if ((v - axes.remainder[s]) % axes.modulus[s] == 0) values_[s].push_back(v);
      }
    }
  }

  // By the Dims, as prove sees them: where a normal form is defined and its tree is not, it counts.
  Truth truth(const Statement& statement) {
    Truth truth;
    int64_t best = 0;
    for (int64_t x : values_[0]) {
      for (int64_t y : values_[1]) {
        const auto a = evaluate(statement.a, {{0, x}, {1, y}});
        const auto b = evaluate(statement.b, {{0, x}, {1, y}});
        if (!a || !b) continue;
        truth.any_defined = true;
        if (holds(statement.relation, *a, *b)) {
          truth.any_holds = true;
          continue;
        }
        const int64_t cost = std::abs(x) + std::abs(y);
        if (truth.all_hold || cost < best || (cost == best && std::vector{x, y} < truth.smallest)) {
          best = cost;
          truth.smallest = {x, y};
        }
        truth.all_hold = false;
      }
    }
    return truth;
  }

  Scope scope_;
  std::vector<Dim> symbols_;
  std::vector<int64_t> values_[2];
};

std::string describe(const Statement& s) {
  constexpr const char* kNames[] = {" == ", " <= ", " divisible by ", " broadcastable with "};
  return to_string(s.a) + kNames[static_cast<int>(s.relation)] + to_string(s.b);
}

Proof prove(const Statement& s) {
  switch (s.relation) {
    case Relation::kEqual:
      return prove(Relation::kEqual, s.a, s.b);
    case Relation::kAtMost:
      return prove_at_most(s.a, s.b);
    case Relation::kDivisible:
      return prove_divisible(s.a, s.b);
    default:
      return prove(Relation::kBroadcastable, s.a, s.b);
  }
}

TEST(ProveExhaustive, VerdictsAgreeWithBruteForce) {
  size_t yes = 0;
  size_t by_cases = 0;
  size_t broken = 0;
  for (const Axes& axes : kDomains) {
    SmallDomain world(axes);
    TreeMaker maker(17);
    for (int i = 0; i < 4000; ++i) {
      Statement statement;
      statement.a = build(*maker.make(maker.pick(4)), world.symbols_);
      statement.b = build(*maker.make(maker.pick(4)), world.symbols_);
      statement.relation = kRelations[i % 4];
      if (!statement.a.is_symbolic() || statement.b.is_unknown()) continue;
      const std::string text = describe(statement);
      const Truth truth = world.truth(statement);

      const Decision decision = decide(statement);
      ASSERT_TRUE(decision != Decision::kAlways || truth.all_hold) << axes.name << ": " << text;
      ASSERT_TRUE(decision != Decision::kNever || !truth.any_holds) << axes.name << ": " << text;
      bool proven = true;
      Cases cases(statement, moduli_of(statement));
      int budget = 1000;
      while (const auto found = cases.count() <= 1024 ? cases.next() : nullptr) {
        proven = proven && decide_by_cases(found->statement, budget) == Decision::kAlways;
      }
      if (proven && cases.count() <= 1024) {
        ASSERT_TRUE(truth.all_hold) << axes.name << ", by cases: " << text;
        ++by_cases;
      }

      const Proof proof = prove(statement);
      if (!truth.any_defined) continue;
      ASSERT_EQ(proof.verdict, truth.all_hold ? Verdict::kYes : Verdict::kNo) << axes.name << ": " << text;
      if (truth.all_hold) {
        ++yes;
        continue;
      }
      ++broken;
      // A symbol that the statement does not mention has no value in the counterexample.
      for (int s = 0; s < 2; ++s) {
        const auto it = proof.counterexample.find(s);
        if (it == proof.counterexample.end()) continue;
        ASSERT_EQ(it->second, truth.smallest[static_cast<size_t>(s)]) << text;
      }
    }
  }
  EXPECT_GT(yes, 1000u);
  EXPECT_GT(broken, 5000u);
  // Most of what holds is proven without visiting every point.
  EXPECT_GT(by_cases * 10, yes * 8);
  RecordProperty("proven", static_cast<int>(yes));
  RecordProperty("by_cases", static_cast<int>(by_cases));
}

// The same statements with nothing assumed but the kind: what is proven must hold on a grid, what is refuted must
// break.
TEST(ProveExhaustive, UnboundedVerdictsHoldOnAGrid) {
  size_t yes = 0;
  size_t open = 0;
  size_t total = 0;
  for (const SymbolKind kind : {SymbolKind::kInputDim, SymbolKind::kInputValue}) {
    Scope scope;
    const std::vector<Dim> symbols = {scope.fresh("a", kind), scope.fresh("b", kind)};
    TreeMaker maker(29);
    for (int i = 0; i < 3000; ++i) {
      const Dim a = build(*maker.make(maker.pick(4)), symbols);
      const Dim b = build(*maker.make(maker.pick(3)), symbols);
      if (!a.is_symbolic() || b.is_unknown()) continue;
      const bool equality = i % 2 == 0;
      const Proof proof = equality ? prove(Relation::kEqual, a, b) : prove_at_most(a, b);
      const Relation relation = equality ? Relation::kEqual : Relation::kAtMost;
      ++total;
      if (proof.verdict == Verdict::kUnknown) {
        ++open;
        continue;
      }
      if (proof.verdict == Verdict::kNo) {
        const auto x = evaluate(a, proof.counterexample);
        const auto y = evaluate(b, proof.counterexample);
        ASSERT_TRUE(x && y && !holds(relation, *x, *y)) << describe({relation, a, b});
        continue;
      }
      ++yes;
      for (int64_t v = kind == SymbolKind::kInputDim ? 0 : -15; v < 30; ++v) {
        for (int64_t w = kind == SymbolKind::kInputDim ? 0 : -15; w < 30; ++w) {
          const auto x = evaluate(a, {{0, v}, {1, w}});
          const auto y = evaluate(b, {{0, v}, {1, w}});
          ASSERT_TRUE(!x || !y || holds(relation, *x, *y)) << describe({relation, a, b}) << " at " << v << ", " << w;
        }
      }
    }
  }
  EXPECT_GT(yes, 100u);
  EXPECT_LT(open * 50, total);
}

// With a relation between the symbols: a verdict is the one of all points at which it holds.
TEST(ProveExhaustive, VerdictsUnderAFactAgreeWithBruteForce) {
  size_t yes = 0;
  size_t by_fact = 0;
  size_t broken = 0;
  size_t open = 0;
  for (const Axes& axes : kDomains) {
    TreeMaker maker(43);
    for (int f = 0; f < 150; ++f) {
      SmallDomain world(axes), free(axes);
      const TreePtr tree = maker.make(1 + maker.pick(3));
      const Dim fact = build(*tree, world.symbols_) - maker.pick(12);
      if (!fact.is_symbolic()) continue;
      const bool is_equal = maker.pick(3) == 0;
      try {
        world.scope_.assume_not_negative(fact);
        if (is_equal) world.scope_.assume_not_negative(-fact);
      } catch (const Error&) {
        continue;
      }
      for (int i = 0; i < 24; ++i) {
        const TreePtr left = maker.make(maker.pick(4)), right = maker.make(maker.pick(3));
        const Statement s{kRelations[i % 4], build(*left, world.symbols_), build(*right, world.symbols_)};
        if (!s.a.is_symbolic() || s.b.is_unknown()) continue;
        const auto holds_at = [&](int64_t x, int64_t y) -> std::optional<bool> {
          const auto a = evaluate(s.a, {{0, x}, {1, y}}), b = evaluate(s.b, {{0, x}, {1, y}});
          const auto known = evaluate(fact, {{0, x}, {1, y}});
          if (!a || !b || !known || *known < 0 || (is_equal && *known != 0)) return std::nullopt;
          return holds(s.relation, *a, *b);
        };
        bool all = true, any = false;
        for (const int64_t x : world.values_[0]) {
          for (const int64_t y : world.values_[1]) {
            const auto holds = holds_at(x, y);
            any |= holds.has_value();
            all &= holds.value_or(true);
          }
        }
        // A fact about the other symbol alone is none of the statement's.
        const std::vector<int> ids = symbols_of(s);
        const std::vector<int> others = symbols_of(fact);
        const bool meets = std::ranges::any_of(others, [&](int id) { return std::ranges::find(ids, id) != ids.end(); });
        if (!any || !meets) continue;
        const Proof proof = prove(s);
        if (proof.verdict == Verdict::kYes) {
          ASSERT_TRUE(all) << axes.name << ", " << to_string(fact) << " >= 0: " << describe(s);
          ++yes;
          const Statement alone{s.relation, build(*left, free.symbols_), build(*right, free.symbols_)};
          by_fact += prove(alone).verdict == Verdict::kYes ? 0 : 1;
        } else if (proof.verdict == Verdict::kNo) {
          const auto at = [&](int id) {
            const auto found = proof.counterexample.find(id);
            return found == proof.counterexample.end() ? world.values_[id].front() : found->second;
          };
          // A fact that holds wherever it has a value says nothing where it has none.
          const auto a = evaluate(s.a, {{0, at(0)}, {1, at(1)}}), b = evaluate(s.b, {{0, at(0)}, {1, at(1)}});
          const auto known = evaluate(fact, {{0, at(0)}, {1, at(1)}}).value_or(0);
          ASSERT_TRUE(a && b && !holds(s.relation, *a, *b)) << axes.name << ": " << describe(s);
          ASSERT_TRUE(is_equal ? known == 0 : known >= 0)
              << axes.name << ", " << to_string(fact) << ": " << describe(s);
          ++broken;
        } else {
          ++open;
        }
      }
    }
  }
  EXPECT_GT(yes, 500u);
  EXPECT_GT(by_fact, 100u);
  EXPECT_GT(broken, 1000u);
  EXPECT_LT(open * 20, yes + broken);
}

// A size is chosen, what data make of it is not: where sizes break a statement, they do so whatever that is.
TEST(ProveExhaustive, WhatBreaksDoesSoWhateverDataAre) {
  size_t found = 0;
  size_t there_is = 0;
  TreeMaker maker(7);
  for (int i = 0; i < 3000; ++i) {
    Scope scope;
    const std::vector<Dim> symbols = {scope.fresh("a", SymbolKind::kInputDim),
                                      scope.fresh("b", SymbolKind::kDataDependent)};
    for (const Dim symbol : symbols) scope.assume_range(symbol, 0, 12);
    const Statement s{kRelations[i % 4], build(*maker.make(maker.pick(4)), symbols),
                      build(*maker.make(maker.pick(3)), symbols)};
    if (!is_data_dependent(s.a) && !is_data_dependent(s.b)) continue;
    if (s.a.is_unknown() || s.b.is_unknown()) continue;
    const auto fails_at = [&](int64_t x, int64_t y) {
      const auto a = evaluate(s.a, {{0, x}, {1, y}}), b = evaluate(s.b, {{0, x}, {1, y}});
      return a && b ? std::optional(!holds(s.relation, *a, *b)) : std::nullopt;
    };
    const auto always_fails = [&](int64_t x) {
      bool all = true, any = false;
      for (int64_t y = 0; y <= 12; ++y) {
        all &= fails_at(x, y).value_or(true);
        any |= fails_at(x, y).has_value();
      }
      return all && any;
    };
    bool any = false;
    for (int64_t x = 0; x <= 12; ++x) any |= always_fails(x);
    there_is += any ? 1 : 0;
    const Proof proof = prove(s);
    if (proof.verdict != Verdict::kNo) continue;
    const auto sizes = breaks_whatever(s.relation, s.a, s.b, proof.counterexample);
    if (!sizes) continue;
    ++found;
    ASSERT_FALSE(sizes->contains(1));
    const auto x = sizes->find(0);
    // Where it has a value at all.
    for (int64_t y = 0; y <= 12; ++y)
      ASSERT_TRUE(fails_at(x == sizes->end() ? 0 : x->second, y).value_or(true)) << describe(s);
  }
  EXPECT_GT(found, 100u);
  EXPECT_GT(found * 10, there_is * 8);
}

}  // namespace
}  // namespace thaw::dim
