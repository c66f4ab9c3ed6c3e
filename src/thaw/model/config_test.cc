#include "thaw/model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>

#include "thaw/model/checkpoint_testing.h"

namespace thaw::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Config parse(std::string_view text) { return Config::parse(text, "config.json"); }

TEST(Config, ReadsEachTypeOrTheDefault) {
  const Config config = parse(
      R"({"n": 7, "x": 0.5, "whole": 2, "yes": true, "word": "silu", "list": [3, 1, 2], "none": null, "minus": -2})");
  EXPECT_EQ(config.size({"n"}), 7);
  EXPECT_EQ(config.size_or({"none"}, 5), 5);
  EXPECT_EQ(config.size_or({"n"}, 5, 7), 7);
  EXPECT_EQ(config.size_or({"none"}, 5, 3), 5);
  EXPECT_EQ(config.integer_or({"minus"}, 0), -2);
  EXPECT_EQ(config.number({"x"}), 0.5);
  EXPECT_EQ(config.number({"whole"}), 2.0);
  EXPECT_EQ(config.number_or({"y"}, 1.5), 1.5);
  EXPECT_TRUE(config.boolean_or({"yes"}, false));
  EXPECT_EQ(config.text({"word"}), "silu");
  EXPECT_EQ(config.text_or({"other"}, "gelu"), "gelu");
  EXPECT_THAT(config.integers({"list"}), ElementsAre(3, 1, 2));
  EXPECT_THAT(config.numbers({"list"}), ElementsAre(3.0, 1.0, 2.0));
  EXPECT_THAT(config.integers_or({"none"}, {4}), ElementsAre(4));
  EXPECT_TRUE(config.has("n"));
  EXPECT_FALSE(config.has("none"));
}

TEST(Config, TheFirstOfSeveralNamesThatIsThereCounts) {
  const Config config = parse(R"({"in_chans": 3, "in_channels": null, "channels": 5})");
  EXPECT_EQ(config.size({"in_channels", "in_chans", "channels"}), 3);
  EXPECT_EQ(config.size({"channels", "in_chans"}), 5);
}

TEST(Config, ASizeMayHaveALimit) {
  const Config config = parse(R"({"old": null, "n_window": 9})");
  EXPECT_THAT(error_of([&] { static_cast<void>(config.size_or({"old", "n_window"}, 5, 8)); }),
              AllOf(HasSubstr("'n_window' is 9"), HasSubstr("at most 8")));
}

TEST(Config, ObjectsKnowWhereTheyStand) {
  const Config config = parse(R"({"text_config": {"rope": {"theta": "much"}}, "empty": {}})");
  const Config rope = config.object("text_config").object("rope");
  EXPECT_EQ(rope.where(), "config.json, text_config.rope");
  EXPECT_THAT(error_of([&] { static_cast<void>(rope.number({"theta"})); }),
              AllOf(HasSubstr("text_config.rope"), HasSubstr("'theta'"), HasSubstr("much"), HasSubstr("a number")));
  EXPECT_EQ(config.object_or_self("text_config").where(), "config.json, text_config");
  EXPECT_EQ(config.object_or_self("vision_config").where(), "config.json");
  EXPECT_FALSE(config.find_object("vision_config"));
  EXPECT_TRUE(config.object("empty").empty());
  EXPECT_FALSE(config.empty());
}

TEST(Config, AnInnerObjectOutlivesTheOuter) {
  std::optional<Config> inner;
  {
    const Config config = parse(R"({"a": {"n": 3}})");
    inner = config.object("a");
  }
  EXPECT_EQ(inner->size({"n"}), 3);
}

TEST(Config, WrongValuesAreNamed) {
  const Config config = parse(R"({"n": 0, "half": 0.5, "huge": 18446744073709551615, "list": [1, "two"], "o": [],
                                  "word": 3, "flag": "true", "vast": [3, 4e42], "whole": [2.0, 3]})");
  const auto says = [&](auto action, const char* key) { EXPECT_THAT(error_of(action), HasSubstr(key)); };
  says([&] { static_cast<void>(config.size({"n"})); }, "'n' is 0");
  says([&] { static_cast<void>(config.size({"half"})); }, "'half' is 0.5");
  says([&] { static_cast<void>(config.size({"huge"})); }, "'huge' is 18446744073709551615");
  says([&] { static_cast<void>(config.integer_or({"half"}, 1)); }, "'half' is 0.5");
  says([&] { static_cast<void>(config.integers({"list"})); }, "'list'");
  says([&] { static_cast<void>(config.integers({"vast"})); }, "'vast' holds 4e+42");
  EXPECT_THAT(config.integers({"whole"}), ElementsAre(2, 3));
  says([&] { static_cast<void>(config.find_object("o")); }, "'o' is []");
  says([&] { static_cast<void>(config.text({"word"})); }, "'word' is 3");
  says([&] { static_cast<void>(config.boolean_or({"flag"}, true)); }, "'flag' is \"true\"");
  says([&] { static_cast<void>(config.size({"depth", "layers"})); }, "'depth' or 'layers' is missing");
  says([&] { static_cast<void>(config.object("text_config")); }, "'text_config' is missing");
}

TEST(Config, WhatIsNoObjectIsRefused) {
  for (const char* text : {"", "{", "[1]", "3", "null", "{\"a\": 1,}", "\xff\xfe"})
    EXPECT_THAT(error_of([&] { parse(text); }), HasSubstr("config.json")) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_THAT(error_of([&] { parse(deep); }), HasSubstr("nests more than"));
}

RC_GTEST_PROP(Config, AnyTextIsReadOrRefused, (const std::string& text)) {
  static_cast<void>(error_of([&] { parse(text); }));
  static_cast<void>(error_of([&] { static_cast<void>(parse("{\"n\":" + text + "}").size_or({"n"}, 1)); }));
}

}  // namespace
}  // namespace thaw::model
