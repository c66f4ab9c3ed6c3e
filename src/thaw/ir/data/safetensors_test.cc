#include "thaw/ir/data/safetensors.h"

#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"

namespace thaw::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_of(const std::string& header, size_t data_size, uint64_t header_size = UINT64_MAX) {
  const uint64_t size = header_size == UINT64_MAX ? header.size() : header_size;
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  bytes += header;
  for (size_t i = 0; i < data_size; ++i) bytes += static_cast<char>(i + 1);
  return bytes;
}

Safetensors parse_file(const std::string& bytes) {
  auto owned = std::make_shared<std::string>(bytes);
  return Safetensors::parse(std::as_bytes(std::span(*owned)), owned, "w.safetensors");
}

std::string refusal_of(const std::string& bytes) {
  return error_of([&] { parse_file(bytes); });
}

constexpr const char* kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[5,17]},)"
    R"("a":{"dtype":"I8","shape":[5],"data_offsets":[0,5]},"e":{"dtype":"F32","shape":[0,7],"data_offsets":[5,5]},)"
    R"("s":{"dtype":"F16","shape":[],"data_offsets":[17,19]}}   )";

TEST(Safetensors, GivesViewsInTheOrderOfTheData) {
  const Safetensors file = parse_file(file_of(kGood, 19));
  std::vector<std::string> names;
  for (const auto& entry : file.entries()) names.push_back(entry.name);
  EXPECT_THAT(names, ElementsAre("a", "e", "b", "s"));
  EXPECT_THAT(file.tensor(*file.find("a")).to_int64(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(file.find("b")->shape, ElementsAre(2, 3));
  EXPECT_EQ(file.tensor(*file.find("b")).bytes().size(), 12u);
  EXPECT_EQ(file.tensor(*file.find("s")).num_elements(), 1);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, RefusesWhatIsNotInTheFormat) {
  const auto one = [](const char* entry, size_t data) {
    return refusal_of(file_of(std::string(R"({"t":)") + entry + "}", data));
  };
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})", 12), "no error");
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})", 11), HasSubstr("ends at byte 12"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})", 13), HasSubstr("describes 12"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[4,16]})", 16), HasSubstr("begins at byte 4"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[12,0]})", 12), HasSubstr("no range"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0]})", 12), HasSubstr("no range"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,12]})", 12), HasSubstr("has 12 bytes; expected 8"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[-3],"data_offsets":[0,12]})", 12), HasSubstr("negative number"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,12]})", 12),
              HasSubstr("overflow"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,18446744073709551615]})", 12), HasSubstr("2^63"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3.5],"data_offsets":[0,12]})", 12), HasSubstr("fraction"));
  EXPECT_THAT(one(R"({"dtype":"Q9","shape":[3],"data_offsets":[0,12]})", 12), HasSubstr("'Q9'"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3]})", 12), HasSubstr("not described in full"));
  EXPECT_THAT(one(R"({"dtype":"F32","dtype":"I32","shape":[3],"data_offsets":[0,12]})", 12), HasSubstr("dtype twice"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[[3]],"data_offsets":[0,12]})", 12), HasSubstr("a list where"));
  EXPECT_THAT(one("7", 0), HasSubstr("a number where"));
  EXPECT_THAT(one("{", 0), HasSubstr("not described in full"));
  EXPECT_THAT(one("[", 0), HasSubstr("a list where"));
}

TEST(Safetensors, RefusesDuplicateNamesAndOverlaps) {
  const auto two = [](const char* a, const char* b) {
    return refusal_of(file_of(fmt::format(R"({{{},{}}})", a, b), 8));
  };
  EXPECT_THAT(two(R"("t":{"dtype":"I8","shape":[4],"data_offsets":[0,4]})",
                  R"("t":{"dtype":"I8","shape":[4],"data_offsets":[4,8]})"),
              HasSubstr("'t' is there twice"));
  EXPECT_THAT(two(R"("t":{"dtype":"I8","shape":[4],"data_offsets":[0,4]})",
                  R"("u":{"dtype":"I8","shape":[5],"data_offsets":[3,8]})"),
              HasSubstr("'u' begins at byte 3"));
  EXPECT_THAT(two(R"("__metadata__":{})", R"("__metadata__":{})"), HasSubstr("twice"));
}

TEST(Safetensors, RefusesHeadersOutOfTheFile) {
  EXPECT_THAT(refusal_of("1234567"), HasSubstr("has 7 bytes"));
  EXPECT_THAT(refusal_of(file_of("{}", 0, 3)), HasSubstr("3 bytes, and has 2"));
  EXPECT_THAT(refusal_of(file_of("{}", 0, uint64_t{1} << 62)), HasSubstr("header inside the file"));
  EXPECT_EQ(refusal_of(file_of("{}", 0)), "no error");
  EXPECT_THAT(refusal_of(file_of(" {}", 0)), HasSubstr("'{'"));
  EXPECT_THAT(refusal_of(file_of("{}x", 0)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of(file_of(std::string(100'000, '{'), 0)), HasSubstr("not JSON"));
  EXPECT_THAT(refusal_of(file_of("{\"\xff\":1}", 0)), HasSubstr("not JSON"));
}

TEST(Safetensors, TruncatedAnywhereIsAnError) {
  const std::string whole = file_of(kGood, 19);
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_NE(refusal_of(whole.substr(0, size)), "no error") << size;
  EXPECT_EQ(refusal_of(whole), "no error");
}

}  // namespace
}  // namespace thaw::ir
