#include "thaw/quant/samples/made_once.h"

#include <gtest/gtest.h>

namespace thaw::quantizing {
namespace {

TEST(MadeOnce, AsksOnceForAKey) {
  const ir::Tensor weight = ir::Tensor::from_float("w", {2}, std::vector<float>{1, 2});
  Remembered known;
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector{ir::Tensor::from_float("codes", {2}, std::vector<float>{3, 4})};
  };
  const auto bytes_of = [&](const MadeKey& key) { return made_once(&known, key, make).front().bytes().data(); };
  const std::byte* first = bytes_of(MadeKey("codes", weight).add(4));
  EXPECT_EQ(bytes_of(MadeKey("codes", ir::Tensor(weight)).add(4)), first);
  EXPECT_EQ(asked, 1);
  EXPECT_NE(bytes_of(MadeKey("codes", weight).add(8)), first);
  EXPECT_EQ(asked, 2);
}

TEST(MadeOnce, RemembersNothingWithoutAPlaceForIt) {
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector<ir::Tensor>();
  };
  const MadeKey key("codes", ir::Tensor::from_float("w", {1}, std::vector<float>{1}));
  made_once(nullptr, key, make);
  made_once(nullptr, key, make);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace thaw::quantizing
