// The prover against brute force: pairs of expressions over two symbols on small domains. Its verdict is the one that
// all points give, its counterexample is the smallest; and what each of its methods claims by itself holds at all
// points.
#include <random>

#include <gtest/gtest.h>

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

      Proof proof;
      switch (statement.relation) {
        case Relation::kEqual:
          proof = prove_equal(statement.a, statement.b);
          break;
        case Relation::kAtMost:
          proof = prove_at_most(statement.a, statement.b);
          break;
        case Relation::kDivisible:
          proof = prove_divisible(statement.a, statement.b);
          break;
        default:
          proof = prove_broadcastable(statement.a, statement.b);
      }
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
      const Proof proof = equality ? prove_equal(a, b) : prove_at_most(a, b);
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

}  // namespace
}  // namespace thaw::dim
