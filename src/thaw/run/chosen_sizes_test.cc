#include "thaw/run/chosen_sizes.h"

#include <gtest/gtest.h>

namespace thaw::run {
namespace {

// Attention over the places of an image: x[b, 8, h, w], scores [b, h w, h w].
class ChosenSizesTest : public testing::Test {
 protected:
  ChosenSizesTest() {
    const dim::Dim b = scope_.symbol("b"), h = scope_.symbol("h"), w = scope_.symbol("w");
    feeder_.emplace(std::vector<InputSpec>{{.name = "x", .dtype = ir::DataType::kFloat, .dims = {{b, 8, h, w}}}},
                    scope_, FeedOptions());
    cost_.add_node({cost_.add_tensor(4, {b, 8, h, w}), cost_.add_tensor(4, {b, h * w, h * w})}, 16 * b * h * w * h * w);
  }

  ChosenSizes choice() const { return {*feeder_, scope_, conditions_, cost_, {}}; }

  double bytes_at(const Point& point) const {
    const double positions = static_cast<double>(*point.find("h")) * static_cast<double>(*point.find("w"));
    return 4 * static_cast<double>(*point.find("b")) * positions * (8 + positions);
  }

  dim::Scope scope_;
  SizeConditions conditions_{{}};
  std::optional<Feeder> feeder_;
  RunCost cost_;
};

TEST_F(ChosenSizesTest, WhatTheModelRunsAtIsSmall) {
  ChosenSizes choice = this->choice();
  size_t count = 0;
  for (; auto point = choice.next(); ++count) {
    EXPECT_LE(bytes_at(*point), double{1 << 28}) << describe(*point);
    choice.tell(true);
  }
  EXPECT_GT(count, 5U);
}

TEST_F(ChosenSizesTest, OnceItHasRunSoMuchWorkIsTriedAlone) {
  const auto points = [&] {
    ChosenSizes choice = this->choice();
    size_t count = 0;
    for (; count < 1000 && choice.next(); ++count) choice.tell(true);
    return count;
  };
  const size_t cheap = points();
  cost_.add_node({}, dim::Dim(int64_t{90'000'000'000}));
  const size_t costly = points();
  EXPECT_GT(costly, 5U);
  EXPECT_LT(costly, 15U);
  EXPECT_GT(cheap, costly);
}

TEST_F(ChosenSizesTest, WhatTheModelNeedsIsTriedFromTheCheapestOn) {
  ChosenSizes choice = this->choice();
  double before = 0;
  size_t costly = 0;
  while (auto point = choice.next()) {
    const double bytes = bytes_at(*point);
    if (bytes > double{1 << 28}) {
      ++costly;
      EXPECT_GE(bytes, before);
      before = bytes;
    } else {
      EXPECT_EQ(costly, 0U) << describe(*point);
    }
    choice.tell(false);
  }
  EXPECT_GT(costly, 0U);
  EXPECT_NE(choice.too_large(), "");  // some take more than any machine has
}

}  // namespace
}  // namespace thaw::run
