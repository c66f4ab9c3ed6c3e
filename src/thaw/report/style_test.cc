#include "thaw/report/style.h"

#include <gtest/gtest.h>

namespace thaw::report {
namespace {

TEST(Style, WordsOfOutcomesAreDressed) {
  const Style style(true);
  EXPECT_EQ(dress_outcomes("agrees at 3 sizes\nwrote x.onnx\n", style),
            "\x1b[32magrees\x1b[0m at 3 sizes\n\x1b[32mwrote\x1b[0m x.onnx\n");
  EXPECT_EQ(dress_outcomes("  differs  n=3\nwarning: low SQNR\n\nerror: no", style),
            "  \x1b[1;31mdiffers\x1b[0m  n=3\n\x1b[33mwarning:\x1b[0m low SQNR\n\n\x1b[1;31merror:\x1b[0m no");
}

TEST(Style, OtherTextStays) {
  const std::string text = "agreeschain\nit agrees\n\nwrote.onnx\n  \n";
  EXPECT_EQ(dress_outcomes(text, Style(true)), text);
  EXPECT_EQ(dress_outcomes("wrote x\n", Style(false)), "wrote x\n");
  EXPECT_EQ(dress_outcomes("", Style(true)), "");
}

}  // namespace
}  // namespace thaw::report
