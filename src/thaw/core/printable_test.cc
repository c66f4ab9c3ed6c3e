#include "thaw/core/printable.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include "thaw/core/error.h"

namespace thaw {
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
  EXPECT_EQ(printable("a\u200bb\u00a0c\u2028\ufeff\U000e0041\u3164"),
            "a\\u200bb\\u00a0c\\u2028\\ufeff\\U000e0041\\u3164");
}

std::string utf8_of(int32_t code) {
  utf8proc_uint8_t bytes[4];
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(utf8proc_encode_char(code, bytes))};
}

// Every character that Unicode has.
TEST(Printable, LeavesNothingThatCannotBeSeenAndAllThatCan) {
  size_t shown = 0, hidden = 0;
  for (int32_t code = 0; code <= 0x10ffff; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const std::string text = "a" + utf8_of(code) + "b", line = printable(text);
    const auto category = utf8proc_category(code);
    const bool is_letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LT;
    const bool is_mark = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_SO;
    const bool is_control = category == UTF8PROC_CATEGORY_CN || category >= UTF8PROC_CATEGORY_ZL;
    if (is_letter || is_mark) {
      EXPECT_EQ(line, text) << code;
    }
    if (is_control) {
      EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; })) << code;
    }
    EXPECT_EQ(printable(line), line) << code;
    ++(line == text ? shown : hidden);
    const std::string json = "{\"" + text + "\": 1}";
    if (code >= 0x20 && code != '"' && code != '\\') {
      EXPECT_EQ(nlohmann::json::parse(with_json_escapes(json)), nlohmann::json::parse(json)) << code;
    }
  }
  EXPECT_GT(shown, 140'000u);
  EXPECT_GT(hidden, 800'000u);
}

TEST(PrintableProse, KeepsWhatWordsAreSpelledWith) {
  const std::string persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
                    family = "\U0001f468\u200d\U0001f469\ufe0f";
  EXPECT_EQ(printable_prose(persian + "\n\t" + family + "\u3000"), persian + "\n\t" + family + "\u3000");
  EXPECT_EQ(printable_prose("a\x1b[2J\u202e\u2066\u200b\U000e0041\r"),
            "a\\x1b[2J\\u202e\\u2066\\u200b\\U000e0041\\x0d");
  EXPECT_EQ(printable("a\u200cb"), "a\\u200cb");
}

TEST(Error, ShowsNamesOnOneLine) {
  const Error error(ErrorCode::kInvalidFile, {.what = "no\u202e\nthing\u200b", .where = "a\xff.onnx"});
  EXPECT_STREQ(error.what(), "a\\xff.onnx: no\\u202e\\x0athing\\u200b");
  EXPECT_EQ(error.parts().what, "no\u202e\nthing\u200b");
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

}  // namespace
}  // namespace thaw
