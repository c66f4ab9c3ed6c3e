#include "thaw/lift/untold/window_limits.h"

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

using dim::Dim;

struct OneSide {
  explicit OneSide(std::vector<int64_t> at) : variables{{.symbol = scope.symbol("n"), .at = std::move(at)}} {}
  dim::Scope scope;
  std::vector<Variable> variables;

  std::vector<Limit> limits(const std::vector<Dim>& sizes, const std::vector<int64_t>& loops = {}) const {
    return window_limits(sizes, sizes, loops, variables);
  }
};

// Windows of p, of what is left of each q: from where on there is a whole one, tried one by one.
TEST(WindowLimits, AreTheLeastSizeOfAWholeWindow) {
  const OneSide side({211, 307, 450});
  const Dim n = side.variables[0].symbol;
  for (int64_t q = 1; q <= 9; ++q)
    for (int64_t p = 2; p <= 24; ++p) {
      const Dim maps = dim::ceil_div(n, q);
      int64_t least = 1;
      while ((least + q - 1) / q < p) ++least;
      for (const Dim size : {dim::ceil_div(maps, p) * Dim(p), dim::mod(-maps, p)}) {
        const std::vector<Limit> limits = side.limits({size});
        ASSERT_EQ(limits.size(), 1U) << dim::to_string(size);
        EXPECT_TRUE(dim::same(limits[0].most, n));
        EXPECT_TRUE(limits[0].size.is_constant(least))
            << dim::to_string(size) << ": " << dim::to_string(limits[0].size);
      }
    }
}

TEST(WindowLimits, AreOneForTheLongestOfSeveral) {
  const OneSide side({211, 307, 450});
  const Dim n = side.variables[0].symbol;
  const std::vector<Limit> limits = side.limits({dim::ceil_div(n, 7) * Dim(7), dim::ceil_div(n, 32) * Dim(32)});
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_TRUE(limits[0].size.is_constant(32));
}

TEST(WindowLimits, AreNoneOfWhatATraceIsShorterThanNorOfStridesNorOfLoops) {
  const OneSide side({29, 307, 450});
  const Dim n = side.variables[0].symbol;
  EXPECT_TRUE(side.limits({dim::ceil_div(n, 32) * Dim(32)}).empty());
  EXPECT_TRUE(side.limits({dim::ceil_div(n, 16), dim::floor_div(n, 16) * Dim(16)}).empty());
  EXPECT_TRUE(side.limits({dim::ceil_div(n, 16) * Dim(16)}, {16}).empty());
  EXPECT_TRUE(window_limits({{dim::ceil_div(n, 16) * Dim(16)}}, {}, {}, side.variables).empty());
}

}  // namespace
}  // namespace thaw::lifting
