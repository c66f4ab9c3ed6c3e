#include "thaw/lift/table/fitted_before.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace thaw::lifting {
namespace {

View column(std::vector<std::vector<double>> entries) {
  View view;
  std::vector<int64_t> lengths;
  for (const auto& list : entries) lengths.push_back(static_cast<int64_t>(list.size()));
  view.growing = {{dim::Dim(), lengths}};
  view.entries = std::move(entries);
  return view;
}

// Which ways are tried, of which some fit.
struct Tried {
  std::vector<size_t> fit, ways = {};
  std::optional<size_t> operator()(size_t way) {
    ways.push_back(way);
    return std::ranges::find(fit, way) == fit.end() ? std::nullopt : std::optional(way);
  }
};

TEST(FittedBefore, IsTriedFirst) {
  FittedBefore before;
  Tried first{{2, 3}}, again{{2, 3}};
  EXPECT_EQ(first_way(&before, 7, 4, std::ref(first)), 2U);
  EXPECT_EQ(first.ways, (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(first_way(&before, 7, 4, std::ref(again)), 2U);
  EXPECT_EQ(again.ways, (std::vector<size_t>{2}));
}

TEST(FittedBefore, IsNotBelieved) {
  FittedBefore before;
  before.note(7, 2);
  Tried others{{3}}, fewer{{1}}, none{{}};
  EXPECT_EQ(first_way(&before, 7, 4, std::ref(others)), 3U);
  EXPECT_EQ(others.ways, (std::vector<size_t>{2, 0, 1, 3}));
  EXPECT_EQ(first_way(&before, 7, 2, std::ref(fewer)), 1U);
  EXPECT_EQ(fewer.ways, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(first_way(&before, 7, 2, std::ref(none)), std::nullopt);
  EXPECT_EQ(none.ways, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(before.find(7), 2U);
}

TEST(FittedBefore, NothingIsKnownWithoutIt) {
  Tried tried{{1}};
  EXPECT_EQ(first_way(nullptr, 7, 2, std::ref(tried)), 1U);
  EXPECT_EQ(tried.ways, (std::vector<size_t>{0, 1}));
}

TEST(FittedBefore, TellsTablesApart) {
  const View one = column({{1, 2, 3}, {1, 2}});
  const uint64_t key = FittedBefore::key_of(one, Ways::kWhole);
  EXPECT_EQ(key, FittedBefore::key_of(column({{1, 2, 3}, {1, 2}}), Ways::kWhole));
  View integers = one, rounded = one, wider = one;
  integers.kind = Kind::kInteger;
  rounded.is_rounded = true;
  wider.width = 2;
  for (const View& other : {column({{1, 2, 3}, {1, 3}}), column({{1, 2}, {3, 1, 2}}), column({{1, 2, 3}, {2, 1}}),
                            column({{1, 2, 3, 1, 2}}), integers, rounded, wider})
    EXPECT_NE(key, FittedBefore::key_of(other, Ways::kWhole));
  EXPECT_NE(key, FittedBefore::key_of(one, Ways::kKeys));
  EXPECT_NE(key, FittedBefore::key_of(one, Ways::kWhole, 1));
}

}  // namespace
}  // namespace thaw::lifting
