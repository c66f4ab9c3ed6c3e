// Symbols, assumptions, ranges, evaluation and substitution.
#include "thaw/dim/expr/scope.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"
#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

TEST(ScopeTest, ANameIsOneSymbol) {
  Scope scope;
  const Dim batch = scope.symbol("batch");
  EXPECT_TRUE(same(batch, scope.symbol("batch")));
  EXPECT_TRUE(same(*scope.find("batch"), batch));
  EXPECT_FALSE(scope.find("height").has_value());
  EXPECT_EQ(scope.symbol_id(batch), 0);
  EXPECT_EQ(scope.symbol_id(batch + 1), -1);
  EXPECT_EQ(scope.symbol_id(2 * batch), -1);
  EXPECT_EQ(scope.symbol_id(5), -1);
  EXPECT_TRUE(same(scope.symbol_at(0), batch));
}

TEST(ScopeTest, FreshNamesAreNewNames) {
  Scope scope;
  const Dim first = scope.fresh("n", SymbolKind::kInputDim);
  const Dim second = scope.fresh("n", SymbolKind::kInputDim);
  const Dim third = scope.fresh("n", SymbolKind::kDataDependent);
  EXPECT_EQ(to_string(first), "n");
  EXPECT_EQ(to_string(second), "n_2");
  EXPECT_EQ(to_string(third), "n_3");
  EXPECT_FALSE(same(first, second));
  EXPECT_TRUE(is_data_dependent(third * first + 1));
  EXPECT_FALSE(is_data_dependent(second));
  // A name with characters that are not printed is found by itself.
  const Dim path = scope.fresh("/a/b_dim0", SymbolKind::kDataDependent);
  EXPECT_EQ(to_string(path), "_a_b_dim0");
  EXPECT_TRUE(same(*scope.find("/a/b_dim0"), path));
}

TEST(ScopeTest, NamesThatPrintAlikeStayApart) {
  Scope scope;
  const Dim blank = scope.symbol("a b");
  const Dim under = scope.symbol("a_b");
  EXPECT_FALSE(same(blank, under));
  EXPECT_EQ(to_string(blank), "a_b");
  EXPECT_EQ(to_string(under), "a_b_2");
  EXPECT_TRUE(same(scope.symbol("a b"), blank));
  EXPECT_TRUE(same(parse("a_b", scope), under));
  EXPECT_EQ(to_string(scope.symbol("3d")), "_3d");
  EXPECT_EQ(to_string(scope.symbol("")), "_");
}

TEST(ScopeTest, InputValuesAreElements) {
  Scope scope;
  const Dim first = scope.input_value("grid", 0);
  EXPECT_EQ(to_string(first), "grid[0]");
  EXPECT_TRUE(same(scope.input_value("grid", 0), first));
  EXPECT_FALSE(same(scope.input_value("grid", 1), first));
  EXPECT_TRUE(same(parse("grid[0] + 1", scope), first + 1));
  EXPECT_FALSE(range_of(first).lower.has_value());
  EXPECT_FALSE(range_of(first).upper.has_value());
  // A dim of that very name is something else.
  EXPECT_FALSE(same(scope.symbol("grid[0]"), first));
  EXPECT_EQ(to_string(scope.input_value("in put", 3)), "in_put[3]");
  EXPECT_FALSE(same(scope.input_value("in_put", 3), scope.input_value("in put", 3)));
}

TEST(ScopeTest, AssumptionsNarrow) {
  Scope scope;
  const Dim n = scope.symbol("n");
  scope.assume_range(n, 3, 50);
  scope.assume_range(n, -7, 40);
  EXPECT_EQ(*range_of(n).lower, 3);
  EXPECT_EQ(*range_of(n).upper, 40);
  scope.assume_divisible(n, 4);
  EXPECT_EQ(*range_of(n).lower, 4);
  EXPECT_EQ(*range_of(n).upper, 40);
  scope.assume_divisible(n, 6, 2);  // 8, 20, 32
  EXPECT_EQ(scope.symbols()[0].modulus, 12);
  EXPECT_EQ(scope.symbols()[0].remainder, 8);
  EXPECT_EQ(*range_of(n).lower, 8);
  EXPECT_EQ(*range_of(n).upper, 32);
}

TEST(ScopeTest, AssumptionsThatLeaveNothingAreErrorsAndChangeNothing) {
  Scope scope;
  const Dim n = scope.symbol("n");
  scope.assume_range(n, 5, 7);
  EXPECT_THROW(scope.assume_range(n, 8, std::nullopt), Error);
  EXPECT_THROW(scope.assume_divisible(n, 4), Error);
  EXPECT_THROW(scope.assume_range(2 * n, 1, 2), Error);
  EXPECT_THROW(scope.assume_divisible(n, 0), Error);
  EXPECT_EQ(*range_of(n).lower, 5);
  EXPECT_EQ(*range_of(n).upper, 7);
  EXPECT_EQ(scope.symbols()[0].modulus, 1);
  scope.assume_divisible(n, 3);
  try {
    scope.assume_divisible(n, 6, 1);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("'n'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("n % 6 == 1"), std::string::npos);
  }
  const Dim m = scope.symbol("m");
  scope.assume_divisible(m, 4611686018427387904);
  EXPECT_THROW(scope.assume_divisible(m, 4611686018427387847), Error);  // the common multiple does not fit
}

TEST(ScopeTest, RangesAreTightWhereModelsNeedThem) {
  Scope scope;
  const auto range = [&](std::string_view text) {
    const Interval i = range_of(parse(text, scope));
    return std::pair(i.lower, i.upper);
  };
  const auto pair = [](int64_t lower, int64_t upper) { return std::pair(std::optional(lower), std::optional(upper)); };
  EXPECT_EQ(range("n"), pair(0, int64_t{1} << 40));
  EXPECT_EQ(range("n % 8"), pair(0, 7));
  EXPECT_EQ(range("ceil(n/8)*8 - n"), pair(0, 7));
  EXPECT_EQ(range("n - 8*floor(n/8) - 3"), pair(-3, 4));
  EXPECT_EQ(range("min(n, 5) + max(n, 3)").first, 3);
  EXPECT_EQ(range("n - min(n, m)").first, 0);
  EXPECT_EQ(range("max(n, m) - n").first, 0);
  EXPECT_EQ(range("h*w - floor(h/14)*14*w").first, 0);
  scope.assume_range(scope.symbol("p"), 1, 9);
  EXPECT_EQ(range("n*p - n").first, 0);
  EXPECT_EQ(range("p*p - p").first, 0);
  EXPECT_EQ(range("p*p"), pair(1, 81));
  EXPECT_EQ(range("2*p - 3"), pair(-1, 15));
  EXPECT_EQ(range("n % p").first, 0);
  EXPECT_EQ(range("x[0]"), std::pair(std::optional<int64_t>(), std::optional<int64_t>()));
  EXPECT_EQ(range("x[0]*x[0]").first, 0);
}

TEST(ScopeTest, AssumptionsMadeLaterCount) {
  Scope scope;
  const Dim n = scope.symbol("n");
  const Dim d = min(n, 10);
  EXPECT_EQ(*range_of(d).upper, 10);
  scope.assume_range(n, 0, 4);
  EXPECT_EQ(*range_of(d).upper, 4);
  EXPECT_TRUE(same(min(n, 10), n));
}

TEST(ScopeTest, EvaluationGivesValuesOrNothing) {
  Scope scope;
  const Dim d = parse("floor((h + 3)/w) + h % 4 + min(h, w, 6) - broadcast(h, w)", scope);
  EXPECT_EQ(evaluate(d, {{0, 5}, {1, 5}}), 1 + 1 + 5 - 5);
  EXPECT_EQ(evaluate(d, {{0, 9}, {1, 1}}), 12 + 1 + 1 - 9);
  EXPECT_EQ(evaluate(d, {{0, 5}}), std::nullopt);
  EXPECT_EQ(evaluate(d, {{0, 5}, {1, 0}}), std::nullopt);  // divides by 0
  EXPECT_EQ(evaluate(d, {{0, 5}, {1, 4}}), std::nullopt);  // 5 and 4 do not go together
  EXPECT_EQ(evaluate(Dim(), {}), std::nullopt);
  EXPECT_EQ(evaluate(7, {}), 7);
  const Dim large = parse("h*h*h*h", scope);
  EXPECT_EQ(evaluate(large, {{0, int64_t{1} << 20}}), std::nullopt);
  EXPECT_EQ(evaluate(parse("h - w", scope), {{0, std::numeric_limits<int64_t>::max()}, {1, -1}}), std::nullopt);
}

TEST(ScopeTest, SubstitutionRebuilds) {
  Scope scope;
  const Dim d = parse("floor(h/4)*w + max(h, w)", scope);
  EXPECT_EQ(symbols_of(d), (std::vector<int>{0, 1}));
  EXPECT_EQ(to_string(substitute(d, Assignment{{0, 19}})), "4*w + max(w, 19)");
  EXPECT_TRUE(substitute(d, Assignment{{0, 19}, {1, 3}}).is_constant(31));
  const Dim k = scope.symbol("k");
  EXPECT_EQ(to_string(substitute(d, std::unordered_map<int, Dim>{{0, 4 * k}})), "w*k + max(w, 4*k)");
  EXPECT_TRUE(substitute(parse("floor(h/w)", scope), Assignment{{1, 0}}).is_unknown());
  EXPECT_TRUE(symbols_of(4).empty());
}

}  // namespace
}  // namespace thaw::dim
