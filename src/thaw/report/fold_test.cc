#include "thaw/report/fold.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Fold, WhatStandsTwiceInWideLinesIsSaidOnceBeforeItsUse) {
  EXPECT_EQ(fold_expressions("x [ceil(height/32)*ceil(height/32), 1]\ny [ceil(height/32)]\n", 30),
            "where a = ceil(height/32)\nx [a*a, 1]\ny [ceil(height/32)]\n");
}

TEST(Fold, DefinitionsStandBeforeTheParagraph) {
  EXPECT_EQ(
      fold_expressions("model.onnx\n\nInputs\n  x [height]\n\nOutputs\n  y [ceil(height/32)*ceil(height/32), 1]\n", 30),
      "model.onnx\n\nInputs\n  x [height]\n\nwhere a = ceil(height/32)\nOutputs\n  y [a*a, 1]\n");
}

TEST(Fold, TextThatFitsStays) {
  const std::string text = "x [ceil(height/32)*ceil(height/32), 1]\n";
  EXPECT_EQ(fold_expressions(text, 60), text);
  EXPECT_EQ(fold_expressions(text, 0), text);
  EXPECT_EQ(fold_expressions("x [ceil(height/32)*floor(height/32), 1]\n", 30),
            "x [ceil(height/32)*floor(height/32), 1]\n");
}

TEST(Fold, LettersOfSizesAreLeftAlone) {
  EXPECT_EQ(fold_expressions("x [ceil(height/32)*ceil(height/32), a, b*2]\n", 30),
            "where c = ceil(height/32)\nx [c*c, a, b*2]\n");
  EXPECT_EQ(fold_expressions("a shape: [ceil(height/32)*ceil(height/32)]\n", 30),
            "where a = ceil(height/32)\na shape: [a*a]\n");
}

TEST(Fold, ColumnsStayAligned) {
  const std::string text = "  3 <= ceil(height/32) + 1  a window\n  7 <= ceil(height/32) + 5  a window of two\n";
  EXPECT_EQ(fold_expressions(text, 30), text);
  EXPECT_EQ(fold_expressions("  x    [ceil(height/32)*ceil(height/32), 1]\n  x_y  [3]\n", 30),
            "where a = ceil(height/32)\n  x    [a*a, 1]\n  x_y  [3]\n");
}

TEST(Fold, NeverHeightOrWidth) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format("x [ceil(size_a/{0})*ceil(size_a/{0})*a*b*c*d*e*f*g, i*j]\n", 100 + i);
  const std::string folded = fold_expressions(text, 30);
  for (const char* name : {"where h ", "where w ", "where a ", "where j "})
    EXPECT_EQ(folded.find(name), std::string::npos);
  EXPECT_NE(folded.find("where k = ceil(size_a/100)"), std::string::npos) << folded;
}

TEST(Fold, OuterExpressionsAreMadeOfInnerOnes) {
  EXPECT_EQ(fold_expressions("x [floor(ceil(height/32)/2)*ceil(height/32), floor(ceil(height/32)/2), 3]\n", 40),
            "where a = ceil(height/32)\nwhere b = floor(a/2)\nx [b*a, b, 3]\n");
}

TEST(Fold, LettersAreTheSameAtEveryWidth) {
  const std::string text =
      "x [ceil(height/32)*ceil(height/32), 1]\ny [floor(width/100)*floor(width/100)*floor(width/100)*7]\n";
  EXPECT_EQ(fold_expressions(text, 45),
            "where b = floor(width/100)\nx [ceil(height/32)*ceil(height/32), 1]\ny [b*b*b*7]\n");
  EXPECT_EQ(fold_expressions(text, 30),
            "where a = ceil(height/32)\nwhere b = floor(width/100)\nx [a*a, 1]\ny [b*b*b*7]\n");
}

}  // namespace
}  // namespace thaw::report
