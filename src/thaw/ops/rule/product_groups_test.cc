#include "thaw/ops/rule/product_groups.h"

#include <numeric>

#include <gtest/gtest.h>

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
