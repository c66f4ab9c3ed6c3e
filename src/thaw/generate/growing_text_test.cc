#include "thaw/generate/growing_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "thaw/report/printable.h"

namespace thaw::generating {
namespace {

constexpr std::string_view kBroken = "\xEF\xBF\xBD";

// Tokens are bytes; what is no character becomes one U+FFFD, and what follows is lost, as a library has it that stops there.
std::string stops_at_broken(std::span<const int64_t> tokens) {
  std::string text;
  for (const int64_t token : tokens) text.push_back(static_cast<char>(token));
  for (size_t i = 0; i < text.size();) {
    const size_t length = report::utf8_length(std::string_view(text).substr(i));
    if (length == 0) return text.substr(0, i) + std::string(kBroken);
    i += length;
  }
  return text;
}

std::string grown(const std::string& bytes) {
  GrowingText text(stops_at_broken);
  std::string chunks;
  for (size_t i = 0; i < bytes.size(); ++i)
    chunks += text.add(static_cast<unsigned char>(bytes[i]), i + 1 == bytes.size());
  EXPECT_EQ(chunks, text.finish());
  return chunks;
}

TEST(GrowingText, CharactersOfSeveralTokensComeWhole) {
  GrowingText text(stops_at_broken);
  std::vector<std::string> chunks;
  for (const char byte : std::string("a\xC3\xB6\xE2\x82\xAC!"))
    chunks.push_back(text.add(static_cast<unsigned char>(byte), false));
  EXPECT_EQ(chunks, (std::vector<std::string>{"a", "", "\xC3\xB6", "", "", "\xE2\x82\xAC", "!"}));
  EXPECT_EQ(text.finish(), "a\xC3\xB6\xE2\x82\xAC!");
}

TEST(GrowingText, WhatFollowsABrokenCharacterIsThere) {
  EXPECT_EQ(grown("a\xE2\x82 b"), "a" + std::string(kBroken) + " b");
  EXPECT_EQ(grown("\xA9\xE2\x80 D{"), std::string(kBroken) + " D{");
  EXPECT_EQ(grown("ab\xC3"), "ab" + std::string(kBroken));
}

// A space that begins a word is left out where the first token has it, as SentencePiece's decoders do.
TEST(GrowingText, SpacesBetweenWordsStay) {
  GrowingText text([](std::span<const int64_t> tokens) {
    std::string all;
    for (const int64_t token : tokens) all += token == 0 ? " to" : token == 1 ? " be" : ",";
    return all.starts_with(' ') ? all.substr(1) : all;
  });
  for (const int64_t token : {0, 1, 2, 1, 0}) text.add(token, false);
  EXPECT_EQ(text.finish(), "to be, be to");
}

TEST(GrowingText, NothingIsLostBehindWhatIsBroken) {
  EXPECT_EQ(grown("\xC3 x\xE0\xA4\xA9 y\xFF\xE0\xA4\xA9z"),
            std::string(kBroken) + " x\xE0\xA4\xA9 y" + std::string(kBroken) + "\xE0\xA4\xA9z");
}

RC_GTEST_PROP(GrowingText, ValidTextIsItself, ()) {
  const auto characters = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("a", " ", "\xC3\xB6", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"));
  std::string bytes;
  for (const std::string& character : characters) bytes += character;
  RC_ASSERT(grown(bytes) == bytes);
}

}  // namespace
}  // namespace thaw::generating
