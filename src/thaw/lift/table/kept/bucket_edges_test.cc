#include "thaw/lift/table/kept/bucket_edges.h"

#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

// As T5 counts them, in float32.
int64_t bucket_of_t5(int64_t distance, int64_t buckets, int64_t farthest) {
  const int64_t exact = buckets / 2;
  if (distance < exact) return distance;
  const float far = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                    static_cast<float>(std::log(static_cast<double>(farthest) / static_cast<double>(exact))) *
                    static_cast<float>(buckets - exact);
  return std::min(exact + static_cast<int64_t>(far), buckets - 1);
}

// As DeBERTa does.
int64_t bucket_of_deberta(int64_t distance, int64_t middle, int64_t farthest) {
  if (distance < middle) return distance;
  const float far =
      std::ceil(std::log(static_cast<float>(distance) / static_cast<float>(middle)) /
                static_cast<float>(std::log(static_cast<double>(farthest - 1) / static_cast<double>(middle))) *
                static_cast<float>(middle - 1));
  return static_cast<int64_t>(far) + middle;
}

std::vector<int64_t> starts_of(const std::function<int64_t(int64_t)>& bucket, int64_t reach) {
  std::vector<int64_t> starts{0};
  for (int64_t d = 1; d <= reach; ++d)
    if (bucket(d) != bucket(d - 1)) starts.push_back(d);
  return starts;
}

// Whatever is told of a bucket's end is so, at every reach.
void holds_everywhere(const std::function<int64_t(int64_t)>& bucket, int64_t most, int64_t& told, int64_t& gained) {
  for (int64_t reach = 1; reach <= most; reach += 7) {
    const auto end = end_of_last_bucket(starts_of(bucket, reach), reach);
    if (!end) continue;
    ++told;
    ASSERT_GE(*end, reach);
    const int64_t last = *end == kNoEnd ? 4 * most : *end;
    gained += last - reach;
    for (int64_t d = reach; d <= last; ++d)
      ASSERT_EQ(bucket(d), bucket(reach)) << "reach " << reach << " distance " << d;
  }
}

TEST(BucketEdges, AreThoseOfT5) {
  int64_t told = 0, gained = 0;
  for (const int64_t buckets : {10, 16, 24, 32, 160})
    for (const int64_t farthest : {64, 100, 128, 320, 800})
      if (farthest > buckets)
        holds_everywhere([&](int64_t d) { return bucket_of_t5(d, buckets, farthest); }, 900, told, gained);
  EXPECT_GT(told, 1000);
  EXPECT_GT(gained, told);
}

TEST(BucketEdges, AreThoseOfDeberta) {
  int64_t told = 0, gained = 0;
  for (const int64_t middle : {8, 16, 64, 128})
    for (const int64_t farthest : {256, 514, 1024})
      holds_everywhere([&](int64_t d) { return bucket_of_deberta(d, middle, farthest); }, 1500, told, gained);
  EXPECT_GT(told, 1000);
  EXPECT_GT(gained, told);
}

TEST(BucketEdges, AreToldToTheLastOfTheBucket) {
  const auto bucket = [](int64_t d) { return bucket_of_t5(d, 16, 128); };
  EXPECT_EQ(end_of_last_bucket(starts_of(bucket, 52), 52), 63);
  EXPECT_EQ(end_of_last_bucket(starts_of(bucket, 140), 140), kNoEnd);
}

TEST(BucketEdges, AreNotToldOfOtherRuns) {
  const auto even = [](int64_t d) { return d / 8; };
  const auto square = [](int64_t d) { return static_cast<int64_t>(std::sqrt(static_cast<double>(d))); };
  const auto each = [](int64_t d) { return d; };
  EXPECT_FALSE(end_of_last_bucket(starts_of(even, 100), 100));
  EXPECT_FALSE(end_of_last_bucket(starts_of(square, 200), 200));
  EXPECT_FALSE(end_of_last_bucket(starts_of(each, 100), 100));
  EXPECT_FALSE(end_of_last_bucket(std::vector<int64_t>{0}, 100));
}

}  // namespace
}  // namespace thaw::lifting
