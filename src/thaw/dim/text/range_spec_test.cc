#include "thaw/dim/text/range_spec.h"

#include <limits>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::dim {
namespace {

TEST(RangeSpec, ReadsRangesSetsAndSteps) {
  const auto groups = parse_range_spec("batch=1..32, height=64..1024:32,n=1|2|7,m=1..3|9,open=5..:3");
  ASSERT_EQ(groups.size(), 1U);
  const SpecGroup& group = groups[0];
  ASSERT_EQ(group.size(), 5U);
  EXPECT_EQ(group[0].name, "batch");
  EXPECT_EQ(group[0].ranges, (std::vector<Range>{{1, 32, 1}}));
  EXPECT_EQ(group[1].ranges, (std::vector<Range>{{64, 1024, 32}}));
  EXPECT_EQ(group[1].ranges[0].count(), 31U);
  EXPECT_EQ(group[2].ranges, (std::vector<Range>{{1, 1, 1}, {2, 2, 1}, {7, 7, 1}}));
  EXPECT_EQ(group[3].ranges, (std::vector<Range>{{1, 3, 1}, {9, 9, 1}}));
  EXPECT_EQ(group[4].ranges, (std::vector<Range>{{5, std::nullopt, 3}}));
  EXPECT_EQ(group[4].ranges[0].count(), std::nullopt);
}

TEST(RangeSpec, TheLastValueIsOneThatTheStepsHit) {
  EXPECT_EQ(parse_range_spec("h=64..1000:32")[0][0].ranges[0], (Range{64, 992, 32}));
  EXPECT_EQ(parse_range_spec("h=7..7:5")[0][0].ranges[0], (Range{7, 7, 5}));
  EXPECT_TRUE(parse_range_spec("h=7..11:5")[0][0].ranges[0].is_single());
}

TEST(RangeSpec, GroupsAndExpressionsKeepCommasInsideParentheses) {
  const auto groups = parse_range_spec("g[1]=22,g[2]=30,n=min(g[1]*g[2],900) ; g[1]=8,g[2]=12,n=96");
  ASSERT_EQ(groups.size(), 2U);
  ASSERT_EQ(groups[0].size(), 3U);
  EXPECT_EQ(groups[0][0].name, "g[1]");
  EXPECT_EQ(groups[0][2].expression, "min(g[1]*g[2],900)");
  EXPECT_TRUE(groups[0][2].ranges.empty());
  EXPECT_TRUE(groups[1][2].expression.empty());
}

TEST(RangeSpec, RefusesWhatIsNotOfTheGrammar) {
  for (const char* text : {"", "n", "=3", "n=", "n=3..1", "n=1..5:0", "n=1..5:-2", "n=..5", "n=1..x", "n=1,n=2",
                           "n=1|x", "n=1,,m=2", "n=1;", "n=1..9223372036854775808"}) {
    EXPECT_THROW(parse_range_spec(text), Error) << text;
  }
}

TEST(RangeSpec, TheWidestRangeDoesNotOverflow) {
  const auto range = parse_range_spec("n=-9223372036854775808..9223372036854775807:10")[0][0].ranges[0];
  EXPECT_EQ(range.last, 9223372036854775802);
  EXPECT_EQ(range.count(), std::numeric_limits<uint64_t>::max() / 10 + 1);
}

}  // namespace
}  // namespace thaw::dim
