#include "thaw/report/html_page.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace thaw::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HtmlText, MarkupIsShownAsText) {
  EXPECT_EQ(html_text("<script>alert(\"a\" & 'b')</script>"),
            "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;");
  EXPECT_EQ(html_text("&lt;"), "&amp;lt;");
}

TEST(HtmlText, TextThatNeedsNothingStays) {
  EXPECT_EQ(html_text("layers.0/größe [1, 22, 30]"), "layers.0/größe [1, 22, 30]");
}

TEST(HtmlText, ControlCharactersAndBadBytesAreShownAsEscapes) {
  EXPECT_EQ(html_text(std::string_view("a\0b\n\x1b[31m", 9)), "a\\x00b\\x0a\\x1b[31m");
  EXPECT_EQ(html_text("\xff\xc3<"), "\\xff\\xc3&lt;");
}

TEST(HtmlText, CharactersThatTurnTheWritingAreShownAsEscapes) {
  EXPECT_EQ(html_text("a\u202eb"), "a\\u202eb");
  EXPECT_EQ(html_text("\u2066x\u2069\u200f\u061c"), "\\u2066x\\u2069\\u200f\\u061c");
  EXPECT_EQ(html_text("\u2026\u2070"), "\u2026\u2070");
}

RC_GTEST_PROP(HtmlText, NoBytesGiveMarkup, (const std::string& bytes)) {
  const std::string html = html_text(bytes);
  RC_ASSERT(html.find_first_of("<>\"'\n") == std::string::npos);
}

TEST(HtmlCell, NumbersKeepTheirDigitsInTheMarkup) {
  EXPECT_EQ(HtmlCell::number(4.351139068603516e-06).html(), "<data value=\"4.351139068603516e-06\">4.35e-06</data>");
  EXPECT_TRUE(HtmlCell::number(2).is_number());
  EXPECT_THAT(HtmlCell::number(std::numeric_limits<double>::infinity()).html(), Not(HasSubstr("inf")));
  EXPECT_THAT(HtmlCell::number(std::nan("")).html(), Not(HasSubstr("nan")));
}

TEST(HtmlCell, ALongListOpensWithoutAScript) {
  const std::string html = HtmlCell::list({"a", "b", "<c>", "d", "e"}, 2).html();
  EXPECT_THAT(html, HasSubstr("<li><code>b</code></li></ul><details><summary>and 3 more</summary>"));
  EXPECT_THAT(html, HasSubstr("<code>&lt;c&gt;</code>"));
  // Hiding a single line would save nothing.
  EXPECT_THAT(HtmlCell::list({"a", "b", "c"}, 2).html(), Not(HasSubstr("details")));
}

TEST(HtmlPage, EverythingThatGoesInIsEscaped) {
  const std::string_view hostile = "</title><img src=x onerror=alert(1)>";
  HtmlPage page(hostile);
  page.verdict(Outcome::kBad, hostile, hostile);
  page.heading(hostile);
  page.sentence(hostile);
  page.table({std::string(hostile)}, {{HtmlCell::text(hostile)},
                                      {HtmlCell::code(hostile)},
                                      {HtmlCell::verdict(Outcome::kGood, hostile)},
                                      {HtmlCell::list({std::string(hostile)})}});
  const std::string html = page.finish();
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("&lt;img"));
}

TEST(HtmlPage, HeadsOfColumnsMayBreakAtSeparators) {
  HtmlPage page("t");
  page.table({"trace_2x3.onnx <b>"}, {});
  EXPECT_THAT(page.finish(), HasSubstr("<th scope=\"col\">trace_<wbr>2x3.<wbr>onnx &lt;b&gt;</th>"));
}

TEST(HtmlPage, RowsHaveAsManyCellsAsColumns) {
  HtmlPage page("t");
  page.table({"a", "b", "c"}, {{HtmlCell::count(1234567)}});
  EXPECT_THAT(page.finish(), HasSubstr("<tr><td class=\"number\" data-column=\"a\"><data "
                                       "value=\"1234567\">1,234,567</data></td><td></td><td></td></tr>"));
}

}  // namespace
}  // namespace thaw::report
