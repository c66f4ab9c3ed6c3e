#include "thaw/report/fold.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Fold, WhatStandsTwiceInWideLinesIsSaidOnce) {
  EXPECT_EQ(fold_expressions("a [ceil(height/32)*ceil(height/32), 1]\nb [ceil(height/32)]\n", 30),
            "a [s*s, 1]\nb [ceil(height/32)]\nlet s = ceil(height/32)\n");
}

TEST(Fold, TextThatFitsStays) {
  const std::string text = "a [ceil(height/32)*ceil(height/32), 1]\n";
  EXPECT_EQ(fold_expressions(text, 60), text);
  EXPECT_EQ(fold_expressions(text, 0), text);
  EXPECT_EQ(fold_expressions("a [ceil(height/32)*floor(height/32), 1]\n", 30),
            "a [ceil(height/32)*floor(height/32), 1]\n");
}

TEST(Fold, LettersThatTheTextUsesAreLeftAlone) {
  EXPECT_EQ(fold_expressions("s [ceil(height/32)*ceil(height/32), t]\n", 30), "s [u*u, t]\nlet u = ceil(height/32)\n");
}

TEST(Fold, OuterExpressionsAreMadeOfInnerOnes) {
  EXPECT_EQ(fold_expressions("x [floor(ceil(height/32)/2)*ceil(height/32), floor(ceil(height/32)/2), 3]\n", 40),
            "x [s*t, s, 3]\nlet s = floor(t/2)\nlet t = ceil(height/32)\n");
}

}  // namespace
}  // namespace thaw::report
