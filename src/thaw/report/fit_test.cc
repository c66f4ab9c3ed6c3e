#include "thaw/report/fit.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Fit, LinesThatFitStay) {
  EXPECT_EQ(fit("one two\n\nthree\n", 40), "one two\n\nthree\n");
  const std::string wide(200, 'x');
  EXPECT_EQ(fit(wide, 40), wide);
  EXPECT_EQ(fit(wide + " " + wide, 0), wide + " " + wide);
}

TEST(Fit, BreaksAtBlanksUnderTheText) {
  EXPECT_EQ(fit("  a sentence of so many words that it is wider than forty\nnext", 40),
            "  a sentence of so many words that it is\n    wider than forty\nnext");
}

TEST(Fit, TheSecondColumnStaysOne) {
  EXPECT_EQ(fit("  --name     what it is called, in several words or in one", 40),
            "  --name     what it is called, in\n             several words or in one");
}

TEST(Fit, ColoursAndWideCharactersAreMeasuredAsShown) {
  const std::string dressed = "\x1b[1;31m" + std::string(38, 'x') + "\x1b[0m y";
  EXPECT_EQ(fit(dressed, 40), dressed);
  EXPECT_EQ(fit("漢字漢字漢字漢字漢字漢字漢字 漢字漢字漢字漢字 a", 40),
            "漢字漢字漢字漢字漢字漢字漢字\n  漢字漢字漢字漢字 a");
}

}  // namespace
}  // namespace thaw::report
