#include "thaw/ops/rule/product_groups.h"

#include <numeric>

#include <gtest/gtest.h>

#include "thaw/dim/expr/scope.h"

namespace thaw::ops {
namespace {

using Sizes = std::vector<int64_t>;

std::string text(const Sizes& in, const Sizes& out) {
  auto groups = group_by_product(in, out);
  if (!groups) return "none";
  std::string all;
  for (const AxisGroup& g : *groups) {
    if (!all.empty()) all += "; ";
    for (size_t i = g.in_begin; i < g.in_end; ++i) all += (i > g.in_begin ? "," : "") + std::to_string(in[i]);
    all += "=";
    for (size_t j = g.out_begin; j < g.out_end; ++j) all += (j > g.out_begin ? "," : "") + std::to_string(out[j]);
  }
  return all;
}

TEST(GroupByProduct, PairsEqualAxes) { EXPECT_EQ(text({2, 11, 64}, {2, 11, 4, 16}), "2=2; 11=11; 64=4,16"); }
TEST(GroupByProduct, MergesAxes) { EXPECT_EQ(text({3, 4, 7, 16}, {12, 7, 16}), "3,4=12; 7=7; 16=16"); }
TEST(GroupByProduct, SplitsOneAxisIntoMany) {
  EXPECT_EQ(text({660, 64}, {1, 11, 2, 15, 2, 64}), "660=1,11,2,15,2; 64=64");
}
TEST(GroupByProduct, KeepsABatchOfOneApart) { EXPECT_EQ(text({1, 7, 64}, {1, 7, 4, 16}), "1=1; 7=7; 64=4,16"); }
TEST(GroupByProduct, PutsTrailingOnesIntoTheLastGroup) { EXPECT_EQ(text({6, 1, 1}, {6}), "6,1,1=6"); }
TEST(GroupByProduct, HasNoneWhereProductsDiffer) {
  EXPECT_EQ(text({6, 5}, {6, 4}), "none");
  EXPECT_EQ(text({6}, {6, 2}), "none");
  EXPECT_EQ(text({}, {2}), "none");
}
TEST(GroupByProduct, DoesNotOverflow) { EXPECT_EQ(text({int64_t{1} << 62, 3, 5}, {3, 5, int64_t{1} << 62}), "none"); }

TEST(LeadingGroups, EndWhereProductsDiffer) {
  const Sizes in{2, 12, 5, 7}, out{2, 3, 4, 6, 7};
  const std::vector<AxisGroup> groups = leading_groups(in, out);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].in_end, 2U);
  EXPECT_EQ(groups[1].out_begin, 1U);
  EXPECT_EQ(groups[1].out_end, 3U);
}

TEST(LeadingGroups, OfSeveralTracesAgreeInAll) {
  const std::vector<Sizes> in{{6, 12}, {5, 5}}, cut{{2, 4}, {3, 3}, {5, 5}}, by_chance{{2, 2}, {3, 3}, {5, 10}};
  const std::vector<AxisGroup> groups = leading_groups(in, cut);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].out_end, 2U);
  const std::vector<AxisGroup> whole = leading_groups(in, by_chance);
  ASSERT_EQ(whole.size(), 1U);  // 6 = 2 * 3 in the first alone
  EXPECT_EQ(whole[0].in_end, 2U);
  EXPECT_EQ(whole[0].out_end, 3U);
}

TEST(CommonFactors, AreThoseThatDivideBoth) {
  dim::Scope scope;
  const dim::Dim n = scope.symbol("n"), h = scope.symbol("h");
  const auto factors = common_factors({n, 12 * h, 1}, {n, 3, 1, 4, h});
  ASSERT_TRUE(factors);
  EXPECT_EQ(factors->axes, (std::vector<size_t>{0, 1, 1, 1}));
  EXPECT_EQ(factors->of_out, (std::vector<std::vector<size_t>>{{0}, {1}, {}, {2}, {3}}));
  const auto common = common_factors({n, h, 6}, {n * h, 2, 3});
  ASSERT_TRUE(common);
  EXPECT_EQ(common->axes, (std::vector<size_t>{0, 1, 2, 2}));
  EXPECT_EQ(common->of_out, (std::vector<std::vector<size_t>>{{0, 1}, {2}, {3}}));
  EXPECT_FALSE(common_factors({n, h}, {h, n}));
  EXPECT_FALSE(common_factors({n, 6}, {n, 4, 2}));
  EXPECT_FALSE(common_factors({dim::Dim()}, {n}));
}

// Whatever the sizes, groups cover both sides in order and agree in their products.
TEST(GroupByProduct, CoversEverySmallCase) {
  for (int64_t a = 1; a <= 6; ++a)
    for (int64_t b = 1; b <= 6; ++b)
      for (int64_t c = 1; c <= 6; ++c)
        for (int64_t d = 1; d <= 36; ++d) {
          if (a * b * c % d != 0) continue;
          Sizes in{a, b, c}, out{d, a * b * c / d};
          auto groups = group_by_product(in, out);
          ASSERT_TRUE(groups) << a << b << c << d;
          size_t i = 0, j = 0;
          for (const AxisGroup& g : *groups) {
            ASSERT_EQ(g.in_begin, i);
            ASSERT_EQ(g.out_begin, j);
            auto product = [](const Sizes& s, size_t from, size_t to) {
              return std::accumulate(s.begin() + static_cast<ptrdiff_t>(from), s.begin() + static_cast<ptrdiff_t>(to),
                                     int64_t{1}, std::multiplies<>());
            };
            ASSERT_EQ(product(in, g.in_begin, g.in_end), product(out, g.out_begin, g.out_end));
            i = g.in_end;
            j = g.out_end;
          }
          ASSERT_EQ(i, in.size());
          ASSERT_EQ(j, out.size());
        }
}

}  // namespace
}  // namespace thaw::ops
