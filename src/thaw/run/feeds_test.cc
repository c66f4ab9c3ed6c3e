#include "thaw/run/feeds.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

using ir::DataType;

class Feeds : public testing::Test {
 protected:
  InputSpec input(std::string name, DataType dtype, std::vector<dim::Dim> dims) const {
    InputSpec spec;
    spec.name = std::move(name);
    spec.dtype = dtype;
    spec.dims = std::move(dims);
    return spec;
  }
  dim::Scope scope_;
  dim::Dim n_ = scope_.symbol("n"), h_ = scope_.symbol("h"), w_ = scope_.symbol("w");
};

TEST_F(Feeds, ShapesFollowThePoint) {
  const Feeder feeder({input("x", DataType::kFloat, {n_, 3, h_, w_}), input("y", DataType::kDouble, {2 * n_ + 1})},
                      scope_, {});
  const Arrays feeds = feeder.make({{{"n", 2}, {"h", 5}, {"w", 7}}});
  EXPECT_EQ(describe(feeds.at("x")), "float32[2,3,5,7]");
  EXPECT_EQ(describe(feeds.at("y")), "float64[5]");
  const std::vector<double> values = to_doubles(feeds.at("x"));
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 1);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), -1);
}

TEST_F(Feeds, WhatIsDrawnDependsOnSeedNameAndShapeAlone) {
  const auto draw = [&](uint64_t seed, std::vector<InputSpec> inputs) {
    FeedOptions options;
    options.seed = seed;
    return Feeder(std::move(inputs), scope_, options).make({{{"n", 4}}}).at("x");
  };
  const InputSpec x = input("x", DataType::kFloat, {n_}), y = input("y", DataType::kFloat, {n_});
  EXPECT_EQ(draw(0, {x, y}), draw(0, {y, x}));
  EXPECT_EQ(draw(0, {x}), draw(0, {x, y}));
  EXPECT_NE(draw(0, {x}), draw(1, {x}));
}

TEST_F(Feeds, AxesDifferAndSizesAreNotZero) {
  InputSpec axes = input("axes", DataType::kInt64, {3}), sizes = input("sizes", DataType::kInt64, {n_});
  axes.index_bound = 3;
  axes.is_distinct = true;
  sizes.lowest = 1;
  const Feeder feeder({axes, sizes}, scope_, {});
  const Arrays feeds = feeder.make({{{"n", 300}}});
  std::vector<int64_t> drawn = to_int64s(feeds.at("axes"));
  std::ranges::sort(drawn);
  EXPECT_EQ(drawn, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(std::ranges::min(to_int64s(feeds.at("sizes"))), 1);
}

TEST_F(Feeds, IntegersStayWithinTheirTable) {
  InputSpec ids = input("ids", DataType::kInt64, {n_});
  ids.index_bound = 3;
  FeedOptions options;
  options.ranges["other"] = {5, 6};
  const Feeder feeder({ids, input("other", DataType::kInt32, {n_}), input("plain", DataType::kUint8, {n_})}, scope_,
                      options);
  const Arrays feeds = feeder.make({{{"n", 300}}});
  const auto range = [&](const char* name) {
    const std::vector<int64_t> values = to_int64s(feeds.at(name));
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return std::pair(*low, *high);
  };
  EXPECT_EQ(range("ids"), (std::pair<int64_t, int64_t>(0, 2)));
  EXPECT_EQ(range("other"), (std::pair<int64_t, int64_t>(5, 6)));
  EXPECT_EQ(range("plain"), (std::pair<int64_t, int64_t>(0, 9)));
}

TEST_F(Feeds, MasksAreRowsOfOnesThatEndInZeros) {
  const Feeder feeder({input("attention_mask", DataType::kInt64, {n_, 8})}, scope_, {});
  const std::vector<int64_t> mask = to_int64s(feeder.make({{{"n", 50}}}).at("attention_mask"));
  bool some_zero = false;
  for (size_t row = 0; row < 50; ++row) {
    const auto begin = mask.begin() + static_cast<std::ptrdiff_t>(row * 8);
    EXPECT_TRUE(std::is_sorted(begin, begin + 8, std::greater<>()));
    EXPECT_EQ(begin[3], 1);
    some_zero = some_zero || begin[7] == 0;
  }
  EXPECT_TRUE(some_zero);
}

TEST_F(Feeds, ArraysAndValuesDetermineSizes) {
  FeedOptions options;
  options.arrays["x"] = Array::zeros(DataType::kFloat, {7, 3});
  options.values["grid"] = {"1", "22", "30", "1", "16", "24"};
  const Feeder feeder({input("x", DataType::kFloat, {h_, 3}), input("grid", DataType::kInt64, {n_, 3}),
                       input("y", DataType::kFloat, {n_, h_, w_})},
                      scope_, options);
  const auto free = feeder.free_symbols({});
  ASSERT_EQ(free.size(), 1U);
  EXPECT_EQ(free[0].name, "w");
  const Arrays feeds = feeder.make({{{"w", 5}}});
  EXPECT_EQ(describe(feeds.at("y")), "float32[2,7,5]");
  EXPECT_EQ(to_int64s(feeds.at("grid")), (std::vector<int64_t>{1, 22, 30, 1, 16, 24}));
  EXPECT_THROW(feeder.make({{{"w", 5}, {"h", 8}}}), Error);
  EXPECT_THROW(feeder.make({{{"w", 5}, {"n", 3}}}), Error);
  EXPECT_THROW(feeder.make({}), Error);
}

TEST_F(Feeds, ElementsOfIntegerInputsAreSetByName) {
  const Feeder feeder({input("grid", DataType::kInt64, {1, 3}), input("x", DataType::kFloat, {n_})}, scope_, {});
  const Arrays feeds = feeder.make({{{"grid[0]", 1}, {"grid[1]", 22}, {"grid[2]", 30}, {"n", 660}}});
  EXPECT_EQ(to_int64s(feeds.at("grid")), (std::vector<int64_t>{1, 22, 30}));
  EXPECT_THROW(feeder.make({{{"grid[3]", 1}, {"n", 2}}}), Error);
  EXPECT_THROW(feeder.make({{{"x[0]", 1}, {"n", 2}}}), Error);
  EXPECT_THROW(feeder.make({{{"height", 1}, {"n", 2}}}), Error);
  EXPECT_THROW(feeder.make({{{"n", -2}}}), Error);
}

TEST_F(Feeds, SpatialSymbolsAreThoseOfAnImage) {
  const Feeder feeder({input("x", DataType::kFloat, {n_, 3, h_, w_})}, scope_, {});
  const auto free = feeder.free_symbols({{{"w", 3}}});
  ASSERT_EQ(free.size(), 2U);
  EXPECT_FALSE(free[0].spatial);
  EXPECT_TRUE(free[1].spatial);
}

TEST_F(Feeds, SizesAreKnownBeforeTheyAreDrawn) {
  const Feeder feeder({input("x", DataType::kFloat, {n_, 3}), input("y", DataType::kInt64, {h_})}, scope_, {});
  EXPECT_EQ(feeder.drawn_bytes({{{"n", 5}, {"h", 7}}}), 5U * 3 * 4 + 7 * 8);
  EXPECT_EQ(feeder.drawn_bytes({{{"n", int64_t{1} << 62}, {"h", 7}}}), UINT64_MAX);
}

TEST_F(Feeds, DefaultsAreNotFedUnlessGiven) {
  InputSpec scale = input("scale", DataType::kFloat, {});
  scale.has_default = true;
  EXPECT_TRUE(Feeder({scale}, scope_, {}).make({}).empty());
  FeedOptions options;
  options.values["scale"] = {"2.5"};
  EXPECT_EQ(to_doubles(Feeder({scale}, scope_, options).make({}).at("scale")), (std::vector<double>{2.5}));
}

TEST_F(Feeds, AnOptionalInputIsLeftEmptyUnlessGiven) {
  InputSpec maybe = input("maybe", DataType::kFloat, {});
  maybe.kind = ir::Type::Kind::kOptional;
  maybe.dims.reset();
  EXPECT_TRUE(Feeder({maybe}, scope_, {}).make({}).empty());
  FeedOptions options;
  options.arrays["maybe"] = Array::zeros(DataType::kFloat, {3});
  EXPECT_EQ(Feeder({maybe}, scope_, options).make({}).size(), 1U);
}

TEST_F(Feeds, WhatCannotBeFedIsSaidAtOnce) {
  FeedOptions unknown;
  unknown.values["y"] = {"1"};
  EXPECT_THROW(Feeder({input("x", DataType::kFloat, {n_})}, scope_, unknown), Error);
  FeedOptions wrong_rank;
  wrong_rank.arrays["x"] = Array::zeros(DataType::kFloat, {2, 3});
  EXPECT_THROW(Feeder({input("x", DataType::kFloat, {n_})}, scope_, wrong_rank), Error);
  InputSpec sequence = input("x", DataType::kFloat, {n_});
  sequence.kind = ir::Type::Kind::kSequence;
  EXPECT_THROW(Feeder({sequence}, scope_, {}), Error);
  InputSpec no_rank = input("x", DataType::kFloat, {});
  no_rank.dims.reset();
  EXPECT_THROW(Feeder({no_rank}, scope_, {}), Error);
  EXPECT_THROW(Feeder({input("x", DataType::kFloat, {n_, n_})}, scope_, {}).make({{{"n", int64_t{1} << 20}}}), Error);
}

TEST_F(Feeds, TextsBecomeElementsOfTheType) {
  EXPECT_EQ(to_int64s(array_from_texts("x", DataType::kInt64, {2}, {"9007199254740993", "-1"})),
            (std::vector<int64_t>{9007199254740993, -1}));
  EXPECT_EQ(to_doubles(array_from_texts("x", DataType::kFloat16, {2, 2}, {"0.5"})), std::vector<double>(4, 0.5));
  EXPECT_EQ(to_int64s(array_from_texts("x", DataType::kBool, {2}, {"true", "0"})), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(array_from_texts("x", DataType::kString, {2}, {"a", "b"}).strings[1], "b");
  EXPECT_THROW(array_from_texts("x", DataType::kInt64, {1}, {"1.5"}), Error);
  EXPECT_THROW(array_from_texts("x", DataType::kFloat, {1}, {"one"}), Error);
  EXPECT_THROW(array_from_texts("x", DataType::kFloat, {3}, {"1", "2"}), Error);
}

}  // namespace
}  // namespace thaw::run
