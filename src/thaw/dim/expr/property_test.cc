// Properties of random expressions, larger and with larger numbers than the exhaustive tests can visit.
#include <chrono>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/prove/prove.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

using testing::Tree;
using testing::TreePtr;

constexpr int kSymbols = 4;

TreePtr grow(int operations, bool small_numbers) {
  if (operations == 0) {
    if (*rc::gen::inRange(0, 3) != 0) return testing::leaf_symbol(*rc::gen::inRange(0, kSymbols));
    return testing::leaf_constant(small_numbers ? *rc::gen::inRange<int64_t>(-9, 33)
                                                : *rc::gen::arbitrary<int64_t>() / 2);
  }
  const int left = *rc::gen::inRange(0, operations);
  auto kind =
      *rc::gen::elementOf(std::vector<Tree::Kind>(std::begin(testing::kOperations), std::end(testing::kOperations)));
  TreePtr a = grow(left, small_numbers);
  TreePtr b = grow(operations - 1 - left, small_numbers);
  return testing::node(kind, std::move(a), std::move(b));
}

// Four symbols, each with a kind, perhaps a range and perhaps a step; and a point that the assumptions admit.
struct World {
  Scope scope;
  std::vector<Dim> symbols;
  std::vector<int64_t> point;
  Assignment assignment;

  explicit World(bool small_numbers) {
    for (int i = 0; i < kSymbols; ++i) {
      const auto kind = *rc::gen::element(SymbolKind::kInputDim, SymbolKind::kInputValue);
      const Dim s = scope.fresh(std::string(1, static_cast<char>('a' + i)), kind);
      int64_t value = small_numbers ? *rc::gen::inRange<int64_t>(-40, 400)
                                    : *rc::gen::inRange<int64_t>(-(int64_t{1} << 34), int64_t{1} << 34);
      if (kind == SymbolKind::kInputDim) value = std::abs(value);
      if (*rc::gen::inRange(0, 2) == 0) {
        const int64_t modulus = *rc::gen::inRange<int64_t>(1, 40);
        scope.assume_divisible(s, modulus, value);
      }
      if (*rc::gen::inRange(0, 2) == 0) {
        scope.assume_range(s, value - *rc::gen::inRange<int64_t>(0, 20), value + *rc::gen::inRange<int64_t>(0, 20));
      }
      symbols.push_back(s);
      point.push_back(value);
      assignment[i] = value;
    }
  }
};

RC_GTEST_PROP(DimProperty, NormalFormKeepsTheValue, (bool small_numbers)) {
  World world(small_numbers);
  const TreePtr tree = grow(*rc::gen::inRange(1, 12), small_numbers);
  const Dim d = build(*tree, world.symbols);
  const auto naive = naive_value(*tree, world.point);
  RC_CLASSIFY(d.is_known(), "known");
  RC_CLASSIFY(naive.has_value(), "defined");
  if (!d.is_known() || !naive) return;
  // What the normal form multiplies out may leave 64 bits where the tree does not.
  const auto value = evaluate(d, world.assignment);
  if (value) RC_ASSERT(*value == *naive);
  if (small_numbers && d.is_constant()) RC_ASSERT(value.has_value());
  const Interval range = range_of(d);
  if (range.lower) RC_ASSERT(*range.lower <= *naive);
  if (range.upper) RC_ASSERT(*range.upper >= *naive);
  const Dim substituted = substitute(d, world.assignment);
  if (substituted.is_known() && value) RC_ASSERT(substituted.constant() == *naive);
}

RC_GTEST_PROP(DimProperty, TextReadsBackWithTheSameValue, ()) {
  World world(true);
  const TreePtr tree = grow(*rc::gen::inRange(1, 8), true);
  const Dim d = build(*tree, world.symbols);
  if (d.is_unknown()) return;
  const auto back = try_parse(to_string(d), world.scope);
  RC_ASSERT(back.has_value());
  const auto value = evaluate(d, world.assignment);
  const auto again = evaluate(*back, world.assignment);
  RC_CLASSIFY(same(d, *back), "same form");
  if (value && again) RC_ASSERT(*value == *again);
  RC_ASSERT(to_string(*back) == to_string(d) || !same(*back, d));
}

RC_GTEST_PROP(DimProperty, SumsAndProductsObeyTheLaws, ()) {
  World world(true);
  const Dim a = build(*grow(*rc::gen::inRange(0, 4), true), world.symbols);
  const Dim b = build(*grow(*rc::gen::inRange(0, 4), true), world.symbols);
  const Dim c = build(*grow(*rc::gen::inRange(0, 3), true), world.symbols);
  RC_CLASSIFY(a.is_symbolic(), "symbolic");
  if ((a * (b + c)).is_unknown() || (a * b + a * c).is_unknown()) return;
  RC_ASSERT(same(a + b, b + a));
  RC_ASSERT(same(a * b, b * a));
  RC_ASSERT(((a + b) - b - a).is_constant(0));
  // With halves among the terms, sums may meet in another order and keep another form: proven all the same.
  RC_ASSERT(same(a * (b + c), a * b + a * c) || (a * (b + c) - (a * b + a * c)).is_constant(0) ||
            prove(Relation::kEqual, a * (b + c), a * b + a * c).verdict != Verdict::kNo);
  RC_ASSERT(same(min(a, b), min(b, a)));
  RC_ASSERT(same(max(a, b), max(b, a)));
  RC_ASSERT(same(broadcast(a, b), broadcast(b, a)) || broadcast(a, b).is_unknown());
}

RC_GTEST_PROP(DimProperty, VerdictsHoldAtRandomPoints, (bool equality)) {
  World world(true);
  const Dim a = build(*grow(*rc::gen::inRange(1, 5), true), world.symbols);
  const Dim b = build(*grow(*rc::gen::inRange(0, 5), true), world.symbols);
  const auto x = evaluate(a, world.assignment);
  const auto y = evaluate(b, world.assignment);
  RC_CLASSIFY(x.has_value() && y.has_value(), "defined");
  if (!x || !y) return;
  const Proof proof = equality ? prove(Relation::kEqual, a, b) : prove_at_most(a, b);
  RC_CLASSIFY(proof.verdict == Verdict::kYes, "yes");
  RC_CLASSIFY(proof.verdict == Verdict::kNo, "no");
  if (proof.verdict == Verdict::kYes) RC_ASSERT((equality ? *x == *y : *x <= *y));
  if (proof.verdict == Verdict::kNo) {
    const auto u = evaluate(a, proof.counterexample);
    const auto v = evaluate(b, proof.counterexample);
    RC_ASSERT((u && v && (equality ? *u != *v : *u > *v)));
  }
}

// Work is bounded: however an expression was made, no operation on it takes long.
TEST(DimBudget, HostileExpressionsAreCheap) {
  const auto start = std::chrono::steady_clock::now();
  Scope scope;
  std::vector<Dim> pool;
  for (int i = 0; i < 8; ++i) pool.push_back(scope.symbol("s" + std::to_string(i)));
  uint64_t state = 88172645463325252ULL;
  const auto next = [&](size_t count) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<size_t>(state % count);
  };
  size_t known = 0;
  for (int i = 0; i < 20000; ++i) {
    const Dim a = pool[next(pool.size())];
    const Dim b = pool[next(pool.size())];
    const Tree::Kind kind = testing::kOperations[next(9)];
    Dim d;
    switch (kind) {
      case Tree::Kind::kAdd:
        d = a + b;
        break;
      case Tree::Kind::kSubtract:
        d = a - b + 1;
        break;
      case Tree::Kind::kMultiply:
        d = a * b;
        break;
      case Tree::Kind::kFloorDiv:
        d = floor_div(a, b);
        break;
      case Tree::Kind::kCeilDiv:
        d = ceil_div(a, static_cast<int64_t>(next(60)) + 2);
        break;
      case Tree::Kind::kMod:
        d = mod(a, b);
        break;
      case Tree::Kind::kMin:
        d = min(a, b);
        break;
      case Tree::Kind::kMax:
        d = max(a, b);
        break;
      default:
        d = broadcast(a, b);
    }
    if (d.is_unknown()) continue;
    ++known;
    if (pool.size() < 400) {
      pool.push_back(d);
    } else {
      pool[8 + next(392)] = d;
    }
    if (i % 50 == 0) {
      prove(Relation::kEqual, d, a);
      ASSERT_FALSE(to_string(d).empty());
      ASSERT_LT(to_string(d).size(), 20000u);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GT(known, 1000u);
  EXPECT_LT(seconds, 60) << "20,000 operations on expressions at the edge of the budget";
  RecordProperty("milliseconds", static_cast<int>(seconds * 1000));
}

}  // namespace
}  // namespace thaw::dim
