#include "thaw/run/sweep.h"

#include <set>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

std::vector<std::string> points(const char* spec, size_t count = 0) {
  std::vector<std::string> texts;
  for (const Point& point : choose_points(dim::parse_range_spec(spec), count)) texts.push_back(describe(point));
  return texts;
}

TEST(Sweep, FewCombinationsAreAllPoints) {
  EXPECT_EQ(points("n=3"), (std::vector<std::string>{"n=3"}));
  EXPECT_EQ(points("h=320|640,w=256|448"),
            (std::vector<std::string>{"h=320, w=256", "h=320, w=448", "h=640, w=256", "h=640, w=448"}));
  EXPECT_EQ(points("h=320,w=256;h=640,w=480;h=320,w=256"), (std::vector<std::string>{"h=320, w=256", "h=640, w=480"}));
  EXPECT_EQ(points("n=2..5").size(), 4U);
}

TEST(Sweep, ExpressionsFollowTheOtherNames) {
  EXPECT_EQ(points("m=n+1, n=g[0]*g[1], g[0]=2|3, g[1]=5"),
            (std::vector<std::string>{"g[0]=2, g[1]=5, n=10, m=11", "g[0]=3, g[1]=5, n=15, m=16"}));
  EXPECT_EQ(points("a=7,b=floor(a/2)"), (std::vector<std::string>{"a=7, b=3"}));
  EXPECT_THROW(points("n=m+1"), Error);
  EXPECT_THROW(points("n=m+1,m=n-1"), Error);
  EXPECT_THROW(points("n=floor(4/m),m=0"), Error);
}

TEST(Sweep, OfWideRangesDistinctAwkwardSizesAreChosen) {
  const auto chosen = choose_points(dim::parse_range_spec("batch=1..32,height=64..1024:32,width=64..1024:32"));
  ASSERT_EQ(chosen.size(), 6U);
  std::set<int64_t> heights;
  bool wide = false, tall = false;
  for (const Point& point : chosen) {
    const int64_t batch = *point.find("batch"), height = *point.find("height"), width = *point.find("width");
    EXPECT_TRUE(is_prime(batch) && batch <= 32) << batch;
    for (const int64_t size : {height, width}) {
      EXPECT_TRUE(size >= 64 && size <= 1024 && size % 32 == 0 && is_prime(size / 32)) << size;
    }
    EXPECT_NE(height, width);
    heights.insert(height);
    wide = wide || width > height;
    tall = tall || height > width;
  }
  EXPECT_GE(heights.size(), 5U);
  EXPECT_TRUE(wide && tall);
  EXPECT_EQ(points("batch=1..32,height=64..1024:32"), points("batch=1..32,height=64..1024:32"));
}

TEST(Sweep, AsManyPointsAsAskedForWithinTheRange) {
  for (const size_t count : {1U, 2U, 5U, 11U, 40U}) {
    const auto chosen = choose_points(dim::parse_range_spec("a=3..90,b=10..50:5"), count);
    EXPECT_EQ(chosen.size(), count);
    for (const Point& point : chosen) {
      EXPECT_TRUE(*point.find("a") >= 3 && *point.find("a") <= 90);
      EXPECT_TRUE(*point.find("b") >= 10 && *point.find("b") <= 50 && *point.find("b") % 5 == 0);
    }
  }
  EXPECT_EQ(points("a=1..3", 10).size(), 3U);
  EXPECT_EQ(points("n=0..1000000000000", 3).size(), 3U);
  for (const Point& point : choose_points(dim::parse_range_spec("n=5.."), 4)) EXPECT_GE(*point.find("n"), 5);
}

TEST(Sweep, OneSizeMayBeFixedWhileAnotherVaries) {
  for (const Point& point : choose_points(dim::parse_range_spec("batch=1,h=32..1024:32"))) {
    EXPECT_EQ(*point.find("batch"), 1);
  }
}

TEST(Sweep, DefaultSizesAreDistinctPrimesAndChangeWithTheRound) {
  const std::vector<FreeSymbol> symbols{{"batch", false}, {"h", true}, {"w", true}};
  std::set<int64_t> heights;
  for (size_t round = 0; round < 5; ++round) {
    Point point;
    add_default_sizes(point, symbols, round, {32, 1});
    EXPECT_TRUE(is_prime(*point.find("batch")));
    EXPECT_EQ(*point.find("h") % 32, 0);
    EXPECT_TRUE(is_prime(*point.find("h") / 32));
    EXPECT_NE(*point.find("h"), *point.find("w"));
    heights.insert(*point.find("h"));
  }
  EXPECT_EQ(heights.size(), 5U);
}

TEST(Sweep, Primes) {
  std::vector<int64_t> primes;
  for (int64_t value = -3; value < 30; ++value) {
    if (is_prime(value)) primes.push_back(value);
  }
  EXPECT_EQ(primes, (std::vector<int64_t>{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}));
}

}  // namespace
}  // namespace thaw::run
