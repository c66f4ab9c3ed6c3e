#include "thaw/report/json_writer.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

namespace thaw::report {
namespace {

using nlohmann::json;

TEST(JsonWriter, LaysOutLinesAndLine) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("name", "a");
  writer.member_array("list");
  writer.begin_object(JsonWriter::Layout::kLine);
  writer.member("x", 1);
  writer.member_array("dims");
  writer.value(2);
  writer.null();
  writer.end_array();
  writer.end_object();
  writer.end_array();
  writer.member_object("none");
  writer.end_object();
  writer.end_object();
  EXPECT_EQ(text, R"({
  "name": "a",
  "list": [
    {"x": 1, "dims": [2, null]}
  ],
  "none": {}
})");
}

TEST(JsonWriter, WritesEachKindOfValue) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_array();
  writer.value(true);
  writer.value(int64_t{INT64_MIN});
  writer.value(uint64_t{UINT64_MAX});
  writer.value(0.1);
  writer.value(std::nan(""));
  writer.value(INFINITY);
  writer.end_array();
  EXPECT_EQ(json::parse(text), json({true, INT64_MIN, UINT64_MAX, 0.1, nullptr, nullptr}));
}

TEST(JsonWriter, OmitsEmptyOptionalMembers) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object(JsonWriter::Layout::kLine);
  writer.optional_member("a", "");
  writer.optional_member("b", "x");
  writer.end_object();
  EXPECT_EQ(text, R"({"b": "x"})");
}

TEST(JsonWriter, ReplacesBytesThatAreNoText) {
  std::string text;
  JsonWriter(text).value("a\xff\xc3(\xc3\xa9\xed\xa0\x80");
  EXPECT_EQ(json::parse(text), json("a\xef\xbf\xbd\xef\xbf\xbd(\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
}

// Bytes are looked at eight at a time: each one, wherever it stands, as JSON's own rules have it.
TEST(JsonWriter, QuotesEachByteAtEachLocation) {
  for (size_t size = 1; size <= 27; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int c = 0; c < 0x80; ++c) {
        std::string bytes(size, '~');
        bytes[at] = static_cast<char>(c);
        std::string text;
        JsonWriter(text).value(bytes);
        ASSERT_EQ(json::parse(text).get<std::string>(), bytes) << "byte " << c << " at " << at << " of " << size;
        const bool escaped = c < 0x20 || c == 0x7f || c == '"' || c == '\\';
        ASSERT_EQ(text.size() > size + 2, escaped) << "byte " << c << " at " << at << " of " << size;
      }
      // A letter of two bytes, and what is left of one that was cut.
      std::string bytes(size, ' ');
      bytes.insert(at, "\xc3\xa9");
      std::string text;
      JsonWriter(text).value(bytes);
      ASSERT_EQ(text, '"' + bytes + '"');
      bytes.erase(at, 1);
      text.clear();
      JsonWriter(text).value(bytes);
      ASSERT_EQ(text, '"' + bytes.substr(0, at) + "\\ufffd" + bytes.substr(at + 1) + '"');
    }
  }
}

// Any bytes give JSON that parses, and text that is UTF-8 comes back as it was.
RC_GTEST_PROP(JsonWriter, AnyBytesGiveValidJson, (const std::string& bytes)) {
  std::string text;
  JsonWriter(text).value(bytes);
  const std::string back = json::parse(text).get<std::string>();
  if (json(bytes).dump(-1, ' ', false, json::error_handler_t::ignore) ==
      json(bytes).dump(-1, ' ', false, json::error_handler_t::replace)) {
    RC_ASSERT(back == bytes);
  }
}

}  // namespace
}  // namespace thaw::report
