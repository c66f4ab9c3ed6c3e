#include "thaw/lift/solve/propose.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::lifting {
namespace {

// A grid of 22 x 30 at the export, and two cases.
class Propose : public ::testing::Test {
 protected:
  Propose() {
    points = {{scope.symbol("n"), {660, 420, 364}},
              {scope.symbol("t"), {1, 1, 1}},
              {scope.symbol("h"), {22, 14, 14}},
              {scope.symbol("w"), {30, 30, 26}}};
    find_products(points);
  }

  std::vector<Proposal> proposals(int64_t value) const { return Proposer(points).propose(value); }

  std::vector<std::string> texts(int64_t value) {
    std::vector<std::string> all;
    for (const Proposal& p : proposals(value)) all.push_back(dim::to_string(p.dim));
    return all;
  }
  std::string cheapest(int64_t value) { return texts(value).front(); }
  bool has(int64_t value, const std::string& text) {
    const auto all = texts(value);
    return std::find(all.begin(), all.end(), text) != all.end();
  }

  dim::Scope scope;
  std::vector<Point> points;
};

TEST_F(Propose, TakesASizeForItself) {
  EXPECT_EQ(cheapest(660), "n");
  EXPECT_EQ(cheapest(30), "w");
}

TEST_F(Propose, TakesAPartForWhatIsNoPowerOfTwo) {
  EXPECT_EQ(cheapest(11), "floor(h/2)");
  EXPECT_EQ(cheapest(165), "floor(n/4)");
}

TEST_F(Propose, TakesWidthsForThemselves) {
  for (const int64_t value : {1, 2, 4, 16, 64, 1024}) EXPECT_EQ(cheapest(value), std::to_string(value));
}

TEST_F(Propose, KeepsTheIntegerItselfAmongThem) {
  for (const int64_t value : {1, 2, 3, 11, 30, 165, 659, 660, 1320}) {
    EXPECT_TRUE(has(value, std::to_string(value))) << value;
  }
}

TEST_F(Propose, LeavesWhatIsNoSize) {
  for (const int64_t value : {int64_t{-1}, int64_t{0}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(texts(value), std::vector<std::string>{std::to_string(value)});
  }
}

TEST_F(Propose, EveryProposalGivesTheIntegerAtTheExportAndWhatItSaysInEachCase) {
  for (int64_t value = 1; value < 1400; value += 7) {
    for (const Proposal& p : proposals(value)) {
      ASSERT_EQ(p.at.front(), value);
      for (size_t k = 0; k < p.at.size(); ++k) {
        dim::Assignment sizes;
        for (const Point& point : points) sizes[scope.symbol_id(point.symbol)] = point.at[k];
        ASSERT_EQ(dim::evaluate(p.dim, sizes), p.at[k]) << dim::to_string(p.dim);
      }
    }
  }
}

TEST_F(Propose, NoTwoAgreeAtEveryPointAndTheCheapestComesFirst) {
  for (const int64_t value : {2, 11, 30, 660}) {
    const auto all = proposals(value);
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) {
        EXPECT_LE(all[i - 1].cost, all[i].cost);
      }
      for (size_t j = 0; j < i; ++j) EXPECT_NE(all[i].at, all[j].at);
    }
  }
}

TEST_F(Propose, SaysWhatNoPointTellsApart) {
  // t is 1 everywhere: as many patches as h * w, or t * h * w, which n is.
  const Proposal patches = proposals(660).front();
  ASSERT_EQ(patches.same_here.size(), 1);
  EXPECT_EQ(dim::to_string(patches.same_here.front()), "h*w");
  EXPECT_TRUE(proposals(1).front().same_here.empty());
}

TEST_F(Propose, NamesASimplerSizeThatIsTheSameNumberEverywhere) {
  points = {{scope.symbol("h"), {22, 30}}, {scope.symbol("w"), {30, 22}}};
  const auto all = proposals(165);
  EXPECT_EQ(dim::to_string(all.front().dim), "165");
  EXPECT_FALSE(all.front().same_here.empty());
  EXPECT_EQ(dim::to_string(all.front().same_here.front()), "floor(h/2)*floor(w/2)");
}

TEST_F(Propose, KnowsPatchesAndTheirClassToken) {
  points = {{scope.symbol("height"), {40, 88, 104}}, {scope.symbol("width"), {72, 24, 56}}};
  EXPECT_EQ(cheapest(45), "floor(height/8)*floor(width/8)");
  EXPECT_TRUE(has(46, "floor(height/8)*floor(width/8) + 1"));
}

TEST_F(Propose, FindsProducts) {
  EXPECT_EQ(dim::to_string(points[0].product), "t*h*w");
  for (size_t i = 1; i < points.size(); ++i) EXPECT_TRUE(points[i].product.is_unknown());
}

TEST_F(Propose, TakesHugeSizesForNothing) {
  points.push_back({scope.symbol("huge"), {std::numeric_limits<int64_t>::max(), 5, 7}});
  EXPECT_EQ(cheapest(11), "floor(h/2)");
}

}  // namespace
}  // namespace thaw::lifting
