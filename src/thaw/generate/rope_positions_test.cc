#include "thaw/generate/rope_positions.h"

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::generating {
namespace {

using Numbers = std::vector<int64_t>;

TEST(RopePositions, TextCountsOn) {
  const RopePositions positions = rope_positions({5, 6, 7}, {});
  for (const Numbers& axis : positions.axes) EXPECT_EQ(axis, (Numbers{0, 1, 2}));
  EXPECT_EQ(positions.next, 3);
}

// By hand: two words, an image of 2 x 3, a word, an image of 1 x 1, a word.
TEST(RopePositions, ImagesHaveRowsAndColumns) {
  const RopePositions positions = rope_positions({1, 2, 99, 99, 99, 99, 99, 99, 3, 99, 4},
                                                 {{99, {{.height = 2, .width = 3}, {.height = 1, .width = 1}}}});
  EXPECT_EQ(positions.axes[0], (Numbers{0, 1, 2, 2, 2, 2, 2, 2, 5, 6, 7}));
  EXPECT_EQ(positions.axes[1], (Numbers{0, 1, 2, 2, 2, 3, 3, 3, 5, 6, 7}));
  EXPECT_EQ(positions.axes[2], (Numbers{0, 1, 2, 3, 4, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(positions.next, 8);
}

TEST(RopePositions, ImagesThatStandSideBySide) {
  const RopePositions positions =
      rope_positions({9, 9, 9}, {{9, {{.height = 1, .width = 2}, {.height = 1, .width = 1}}}});
  EXPECT_EQ(positions.axes[0], (Numbers{0, 0, 2}));
  EXPECT_EQ(positions.axes[2], (Numbers{0, 1, 2}));
}

// By hand: a word, a clip of 3 groups of 1 x 2 whose time goes on by 1.5, a word: text goes on behind the grid's larger side, and
// what comes at last behind the latest frame.
TEST(RopePositions, ClipsHaveTimes) {
  const RopePositions positions =
      rope_positions({1, 8, 8, 8, 8, 8, 8, 2}, {{9, {}}, {8, {{.height = 1, .width = 2, .groups = 3, .step = 1.5F}}}});
  EXPECT_EQ(positions.axes[0], (Numbers{0, 1, 1, 2, 2, 4, 4, 3}));
  EXPECT_EQ(positions.axes[1], (Numbers{0, 1, 1, 1, 1, 1, 1, 3}));
  EXPECT_EQ(positions.axes[2], (Numbers{0, 1, 2, 1, 2, 1, 2, 3}));
  EXPECT_EQ(positions.next, 5);
}

TEST(RopePositions, OtherImagesThanAreGiven) {
  EXPECT_THROW(rope_positions({9, 9, 1}, {{9, {{.height = 1, .width = 3}}}}), Error);
  EXPECT_THROW(rope_positions({9, 1}, {{9, {}}}), Error);
  EXPECT_THROW(rope_positions({1}, {{9, {{.height = 1, .width = 1}}}}), Error);
}

}  // namespace
}  // namespace thaw::generating
