#include "thaw/dim/prove/solve.h"

#include <gtest/gtest.h>

#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

class Solve : public ::testing::Test {
 protected:
  Dim dim(std::string_view text) { return parse(text, scope_); }
  std::string solved(std::string_view symbol, std::string_view lhs, std::string_view rhs) {
    const Dim s = dim(symbol);
    const Dim l = dim(lhs);
    const auto result = solve_for(s, l, dim(rhs));
    return result ? to_string(*result) : "none";
  }

  Scope scope_;
};

TEST_F(Solve, LinearEquationsWithAnExactDivision) {
  EXPECT_EQ(solved("n", "n", "7"), "7");
  EXPECT_EQ(solved("n", "3*n + 2", "3*m + 8"), "m + 2");
  EXPECT_EQ(solved("n", "m - n", "5"), "m - 5");
  EXPECT_EQ(solved("n", "2*n", "2*floor(m/2)"), "floor(m/2)");
  EXPECT_EQ(solved("n", "n + m", "n + n"), "m");
}

TEST_F(Solve, WhatIsNotLinearOrNotExactHasNone) {
  EXPECT_EQ(solved("n", "3*n + 2", "m"), "none");
  EXPECT_EQ(solved("n", "2*n", "7"), "none");
  EXPECT_EQ(solved("n", "n*n", "4"), "none");
  EXPECT_EQ(solved("n", "floor(n/2)", "4"), "none");
  EXPECT_EQ(solved("n", "n + max(n, m)", "4"), "none");
  EXPECT_EQ(solved("n", "m", "m"), "none");
  EXPECT_FALSE(solve_for(dim("2*n"), dim("n"), 3).has_value());
  EXPECT_FALSE(solve_for(dim("n"), Dim(), 3).has_value());
  EXPECT_FALSE(solve_for(5, dim("n"), 3).has_value());
}

TEST_F(Solve, ASlopeThatMayBeZeroDecidesNothing) {
  EXPECT_EQ(solved("n", "n*m", "m*k"), "none");
  scope_.assume_range(dim("m"), 1, std::nullopt);
  EXPECT_EQ(solved("n", "n*m", "m*k"), "k");
  EXPECT_EQ(solved("n", "n*m", "k"), "none");
}

}  // namespace
}  // namespace thaw::dim
