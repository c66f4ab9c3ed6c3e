#include "thaw/quant/samples/memo_cache.h"

#include <gtest/gtest.h>

namespace thaw::quantizing {
namespace {

TEST(Memoized, AsksOnceForAKey) {
  const ir::Tensor weight = ir::Tensor::from_float("w", {2}, std::vector<float>{1, 2});
  Remembered known;
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector{ir::Tensor::from_float("codes", {2}, std::vector<float>{3, 4})};
  };
  const auto bytes_of = [&](const MemoKey& key) { return memoized(&known, key, make).front().bytes().data(); };
  const std::byte* first = bytes_of(MemoKey("codes", weight).add(4));
  EXPECT_EQ(bytes_of(MemoKey("codes", ir::Tensor(weight)).add(4)), first);
  EXPECT_EQ(asked, 1);
  EXPECT_NE(bytes_of(MemoKey("codes", weight).add(8)), first);
  EXPECT_EQ(asked, 2);
}

TEST(Memoized, RemembersNothingWithoutACache) {
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector<ir::Tensor>();
  };
  const MemoKey key("codes", ir::Tensor::from_float("w", {1}, std::vector<float>{1}));
  memoized(nullptr, key, make);
  memoized(nullptr, key, make);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace thaw::quantizing
