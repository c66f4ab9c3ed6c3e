#include "thaw/frozen/assumed_sizes.h"

#include <limits>

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::frozen {
namespace {

class SolveAssumedSizes : public testing::Test {
 protected:
  void states(std::string_view a, int64_t b, dim::Relation kind = dim::Relation::kEqual) {
    ops::Obligation o;
    o.kind = kind;
    o.a = dim::parse(a, scope);
    o.b = b;
    stated.push_back(o);
  }
  int64_t solved(std::string_view name) {
    AssumedSizes assumed_sizes = solve_assumed_sizes(scope, stated, {});
    auto it = assumed_sizes.values.find(scope.symbol_id(scope.symbol(name)));
    return it == assumed_sizes.values.end() ? -1 : it->second;
  }
  dim::Scope scope;
  std::vector<ops::Obligation> stated;
};

TEST_F(SolveAssumedSizes, ALinearEquation) {
  states("3*n + 2", 35);
  EXPECT_EQ(solved("n"), 11);
}

TEST_F(SolveAssumedSizes, ABroadcastWithOneTellsNothing) {
  states("n", 1, dim::Relation::kBroadcastable);
  EXPECT_EQ(solved("n"), -1);
}

TEST_F(SolveAssumedSizes, ASizeOfOneThatIsCountedOut) {
  states("n", 1);
  EXPECT_EQ(solved("n"), 1);
}

TEST_F(SolveAssumedSizes, TheRoundestOfSeveralSizes) {
  states("floor((h + 1)/2)", 320);  // 639 or 640
  EXPECT_EQ(solved("h"), 640);
}

TEST_F(SolveAssumedSizes, TheSizeThatMostEquationsAdmit) {
  states("floor(h/16)", 20);
  states("floor(h/2)", 163);
  states("h", 999);  // a table of another origin
  EXPECT_EQ(solved("h"), 326);
}

TEST_F(SolveAssumedSizes, OneUnknownAfterTheOther) {
  states("n", 5);
  states("n*m", 35);
  EXPECT_EQ(solved("m"), 7);
}

TEST_F(SolveAssumedSizes, AProductIsSplitIntoEvenFactorsNearEachOther) {
  states("h*w", 660);
  EXPECT_EQ(solved("h") * solved("w"), 660);
  EXPECT_EQ(solved("h") % 2, 0);
  EXPECT_EQ(solved("w") % 2, 0);
  EXPECT_EQ(solve_assumed_sizes(scope, stated, {}).guessed.size(), 2u);
}

TEST_F(SolveAssumedSizes, AProductOfQuotients) {
  states("floor(h/8)*floor(w/8)", 45);
  AssumedSizes assumed_sizes = solve_assumed_sizes(scope, stated, {});
  EXPECT_EQ(dim::evaluate(stated[0].a, assumed_sizes.values), 45);
}

TEST_F(SolveAssumedSizes, AnEquationWithoutSolutionIsLeft) {
  states("2*n", 7);
  EXPECT_EQ(solved("n"), -1);
}

TEST_F(SolveAssumedSizes, OtherSolutionsOfASizeThatIsNearlyTooLarge) {
  states("n", std::numeric_limits<int64_t>::max());
  const AssumedSizes assumed_sizes = solve_assumed_sizes(scope, stated, {});
  EXPECT_TRUE(other_solutions(stated, assumed_sizes).empty());
}

}  // namespace
}  // namespace thaw::frozen
