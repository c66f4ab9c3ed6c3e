#include "thaw/report/table.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Table, AlignsColumnsAndTrimsLines) {
  Table table;
  table.add({"a", "float32", "[1]"});
  table.add({"long", "int64", ""});
  table.add({"\xc3\xa9", "x", "y"});
  EXPECT_EQ(table.text(), "  a     float32  [1]\n  long  int64\n  \xc3\xa9     x        y\n");
}

TEST(Table, AlignsWideCharacters) {
  Table table;
  table.add({"\xe5\x9b\xbe\xe5\x83\x8f", "x"});
  table.add({"abcdef", "y"});
  EXPECT_EQ(table.text(0), "\xe5\x9b\xbe\xe5\x83\x8f    x\nabcdef  y\n");
}

TEST(Table, AWideCellDoesNotWidenItsColumn) {
  Table table(4);
  table.add({"abcdefgh", "x"});
  table.add({"ab", "y"});
  EXPECT_EQ(table.text(0), "abcdefgh  x\nab  y\n");
}

}  // namespace
}  // namespace thaw::report
