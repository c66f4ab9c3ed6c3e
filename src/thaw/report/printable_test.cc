#include "thaw/report/printable.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(WidthOf, CountsColumns) {
  EXPECT_EQ(width_of("h\xc3\xa9\xe2\x82\xac"), 3u);
  EXPECT_EQ(width_of("\xe5\x9b\xbe\xe5\x83\x8f"), 4u);  // two Chinese characters
  EXPECT_EQ(width_of("\xf0\x9f\x98\x80"), 2u);
  EXPECT_EQ(width_of("e\xcc\x81"), 1u);  // e and an accent that combines with it
  EXPECT_EQ(width_of("a\xff"), 2u);
}

TEST(Counted, GroupsDigitsAndKnowsOne) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
  EXPECT_EQ(counted(999, "node"), "999 nodes");
  EXPECT_EQ(counted(1234567, "node"), "1,234,567 nodes");
}

}  // namespace
}  // namespace thaw::report
