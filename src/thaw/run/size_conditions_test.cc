#include "thaw/run/size_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thaw::run {
namespace {

using dim::Assignment;
using dim::Dim;
using dim::Relation;

class SizeConditionsTest : public testing::Test {
 protected:
  // The sizes after fitting, of symbols in the order they were made; nothing where they do not fit.
  std::vector<int64_t> fit(const std::vector<SizeCondition>& conditions, std::vector<int64_t> sizes,
                           std::vector<int> movable) {
    Assignment at;
    for (size_t id = 0; id < sizes.size(); ++id) at[static_cast<int>(id)] = sizes[id];
    if (!SizeConditions(conditions).fit(at, movable)) return {};
    for (size_t id = 0; id < sizes.size(); ++id) sizes[id] = at.at(static_cast<int>(id));
    return sizes;
  }

  dim::Scope scope_;
  const Dim a_ = scope_.symbol("a"), b_ = scope_.symbol("b"), c_ = scope_.symbol("c");
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SizeConditionsTest, SolvesForASizeThatMayMove) {
  const SizeCondition total{Relation::kEqual, a_ + b_, c_};
  EXPECT_THAT(fit({total}, {5, 3, 2}, {2}), ElementsAre(5, 3, 8));
  EXPECT_THAT(fit({total}, {5, 3, 12}, {0}), ElementsAre(9, 3, 12));
  EXPECT_THAT(fit({total}, {5, 3, 8}, {0, 1, 2}), ElementsAre(5, 3, 8));
  EXPECT_THAT(fit({total}, {5, 3, 2}, {}), IsEmpty());
}

TEST_F(SizeConditionsTest, LooksForTheNearestWhereNothingSolvesIt) {
  EXPECT_THAT(fit({{Relation::kDivisible, a_, Dim(7)}}, {12, 1, 1}, {0}), ElementsAre(14, 1, 1));
  EXPECT_THAT(fit({{Relation::kAtMost, Dim(4096), a_}}, {5, 1, 1}, {0}), ElementsAre(testing::Ge(4096), 1, 1));
  EXPECT_THAT(fit({{Relation::kAtMost, a_, Dim(11)}}, {92, 1, 1}, {0}), ElementsAre(11, 1, 1));
  EXPECT_THAT(fit({{Relation::kEqual, dim::floor_div(a_, 8), Dim(37)}}, {5, 1, 1}, {0}), ElementsAre(296, 1, 1));
}

TEST_F(SizeConditionsTest, HoldsSeveralAtOnce) {
  const std::vector<SizeCondition> conditions{{Relation::kEqual, a_ * b_, c_},
                                              {Relation::kDivisible, a_, Dim(2)},
                                              {Relation::kDivisible, b_, Dim(2)},
                                              {Relation::kBroadcastable, a_, b_}};
  const auto sizes = fit(conditions, {5, 3, 2}, {0, 1, 2});
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_EQ(sizes[0] * sizes[1], sizes[2]);
  EXPECT_TRUE(sizes[0] % 2 == 0 && sizes[1] % 2 == 0);
}

TEST_F(SizeConditionsTest, WhatContradictsItselfEnds) {
  const std::vector<SizeCondition> conditions{{Relation::kEqual, a_, Dim(5)}, {Relation::kEqual, a_, Dim(7)}};
  EXPECT_THAT(fit(conditions, {2, 1, 1}, {0}), IsEmpty());
}

TEST_F(SizeConditionsTest, SizesThatOnlyRunningTellsAreLeftOut) {
  const Dim count = scope_.fresh("count", dim::SymbolKind::kDataDependent);
  EXPECT_THAT(fit({{Relation::kEqual, a_, count}}, {5, 3, 2}, {0}), ElementsAre(5, 3, 2));
  const Dim value = scope_.input_value("grid", 1);
  EXPECT_THAT(SizeConditions(std::vector<SizeCondition>{{Relation::kEqual, a_, value}}).values(),
              ElementsAre(scope_.symbol_id(value)));
}

}  // namespace
}  // namespace thaw::run
