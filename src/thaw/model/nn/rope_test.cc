#include "thaw/model/nn/rope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::model {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::IsEmpty;

Rope read(std::string_view text, int64_t head_dim, const RopeDefaults& defaults = {}) {
  return read_rope(Config::parse(text, "config.json"), head_dim, defaults);
}

// The numbers of these tables are what transformers 5.23 computes.

void expect_table(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], expected[i] * 3e-7F) << i;
}

TEST(Rope, PlainFrequenciesFallByPowers) {
  const Rope rope = read(R"({"rope_theta": 10000})", 8);
  EXPECT_EQ(rope.dim, 8);
  EXPECT_EQ(rope.scale, 1);
  expect_table(rope.frequencies, {1, 0.1F, 0.01F, 0.001F});
  EXPECT_THAT(rope.axis, IsEmpty());
}

TEST(Rope, ThetaStandsInEitherObjectOrIsTheFamilys) {
  EXPECT_THAT(read(R"({"rope_parameters": {"rope_theta": 16, "rope_type": "default"}})", 4).frequencies,
              ElementsAre(FloatEq(1), FloatEq(0.25)));
  EXPECT_THAT(read(R"({"rope_theta": 16, "rope_scaling": null})", 4).frequencies,
              ElementsAre(FloatEq(1), FloatEq(0.25)));
  EXPECT_THAT(read("{}", 4, {.theta = 16}).frequencies, ElementsAre(FloatEq(1), FloatEq(0.25)));
}

TEST(Rope, Linear) {
  const Rope rope = read(R"({"rope_theta": 10000, "rope_scaling": {"type": "linear", "factor": 4}})", 16);
  expect_table(rope.frequencies, {0.25F, 0.079056941F, 0.0250000004F, 0.00790569466F, 0.00249999994F, 0.000790569466F,
                                  0.000250000012F, 7.90569466e-05F});
}

TEST(Rope, Llama3) {
  const Rope rope = read(R"({"rope_parameters": {"rope_type": "llama3", "rope_theta": 500000, "factor": 8,
      "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 64}})",
                         16);
  expect_table(rope.frequencies, {1, 0.079403013F, 0.00470075384F, 0.000911583134F, 0.000176776681F, 3.42810235e-05F,
                                  6.64786967e-06F, 1.28917316e-06F});
}

TEST(Rope, YarnScalesCosinesToo) {
  const Rope rope = read(R"({"max_position_embeddings": 512, "rope_parameters": {"rope_type": "yarn",
      "rope_theta": 10000, "factor": 8, "original_max_position_embeddings": 64}})",
                         16);
  expect_table(rope.frequencies, {1, 0.223994657F, 0.0416666642F, 0.00395284733F, 0.00124999997F, 0.000395284733F,
                                  0.000125000006F, 3.95284733e-05F});
  EXPECT_NEAR(rope.scale, 1.2079441541679836, 1e-15);
}

constexpr RopeDefaults kPhi{.is_partial = true, .longrope_only = true};

TEST(Rope, LongRopeHasTwoTables) {
  for (const char* kind : {"longrope", "su", "yarn"}) {
    const Rope rope = read(std::string(R"({"max_position_embeddings": 512, "original_max_position_embeddings": 64,
        "partial_rotary_factor": 0.75, "rope_scaling": {"short_factor": [1.0, 1.1, 1.3],
        "long_factor": [1.5, 3.0, 9.0], "type": ")") +
                               kind + "\"}}",
                           8, kPhi);
    EXPECT_EQ(rope.dim, 6);
    EXPECT_EQ(rope.switch_at, 64);
    expect_table(rope.frequencies, {1, 0.0421962552F, 0.00165725732F});
    expect_table(rope.long_context, {0.666666687F, 0.0154719604F, 0.000239381596F});
    EXPECT_NEAR(rope.scale, 1.224744871391589, 1e-15);
  }
}

TEST(Rope, OnlyPhiTurnsPartOfAHead) {
  EXPECT_EQ(read(R"({"partial_rotary_factor": 0.5})", 8).dim, 8);
  EXPECT_EQ(read(R"({"partial_rotary_factor": 0.5})", 8, kPhi).dim, 4);
}

TEST(Rope, SectionsFollowEachOther) {
  const RopeDefaults defaults{.sections = {1, 1, 2}};
  EXPECT_THAT(read("{}", 8, defaults).axis, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(read(R"({"rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]}})", 8, defaults).axis,
              ElementsAre(0, 0, 1, 2));
}

TEST(Rope, SectionsAlternate) {
  const RopeDefaults defaults{.sections = {4, 2, 2}, .interleaved = true};
  EXPECT_THAT(read("{}", 16, defaults).axis, ElementsAre(0, 1, 2, 0, 1, 2, 0, 0));
  EXPECT_THAT(read(R"({"rope_parameters": {"mrope_section": [2, 3, 3]}})", 16, defaults).axis,
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1));
}

void expect_error(std::string_view text, const char* words, const RopeDefaults& defaults = {}) {
  try {
    read(text, 8, defaults);
    FAIL() << text << " is read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

TEST(Rope, WhatDoesNotFitIsNamed) {
  expect_error(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})", "'dynamic'");
  expect_error(R"({"rope_scaling": {"type": "linear"}})", "'factor' is missing");
  expect_error(R"({"rope_theta": 0})", "no frequencies");
  expect_error(R"({"rope_scaling": {"type": "linear", "factor": 1e-320}})", "no frequencies");
  expect_error(R"({"partial_rotary_factor": 1e300})", "1e+300", kPhi);
  expect_error(R"({"rope_scaling": {"mrope_section": [9223372036854775807, 9223372036854775807, 6]}})",
               "9223372036854775807", {.sections = {1, 1, 2}});
  expect_error(R"({"rope_scaling": {"mrope_section": [-1, 3, 2]}})", "-1", {.sections = {1, 1, 2}});
  expect_error(R"({"rope_scaling": {"mrope_section": [1, 1]}})", "2 numbers",
               {.sections = {1, 1, 2}, .interleaved = true});
}

}  // namespace
}  // namespace thaw::model
