#include "thaw/report/printable.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Printable, KeepsTextAndShowsTheRestAsBytes) {
  EXPECT_EQ(printable("h\xc3\xa9 \xf0\x9f\x98\x80"), "h\xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // the one-character form of ESC [
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("a\u202eb\u2066c\u061c"), "a\\u202eb\\u2066c\\u061c");
  EXPECT_EQ(printable("\u2026\u2070"), "\u2026\u2070");
}

TEST(Utf8Length, RefusesWhatUnicodeRefuses) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xc3\xa9"), 2u);
  EXPECT_EQ(utf8_length("\xe2\x82\xac"), 3u);
  EXPECT_EQ(utf8_length("\xf0\x9f\x98\x80"), 4u);
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc1\x81", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf0\x80\x80\xaf",
                          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    EXPECT_EQ(utf8_length(bad), 0u) << bad;
  }
}

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
