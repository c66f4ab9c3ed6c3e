#include "thaw/run/worker_messages.h"

#include <gtest/gtest.h>

#include "thaw/run/message.h"

namespace thaw::run {
namespace {

std::vector<std::byte> memory_of(size_t size) {
  std::vector<std::byte> memory(size);
  for (size_t i = 0; i < size; ++i) memory[i] = static_cast<std::byte>(i);
  return memory;
}

Results sample(std::span<const std::byte> memory) {
  Results results;
  results.arrays.push_back({"a", ir::DataType::kFloat, {2, 3}, memory.first(24), {}});
  results.arrays.push_back({"t", ir::DataType::kString, {2}, {}, {"", "x"}});
  results.arrays.push_back({"b", ir::DataType::kInt4, {3}, memory.subspan(64, 2), {}});
  results.warnings = {"careful"};
  return results;
}

TEST(WorkerMessages, WhatIsSentIsReceived) {
  const std::vector<std::byte> memory = memory_of(256);
  const Results sent = sample(memory);
  const std::string body = encode(sent);
  const Results got = decode_results(body, memory);
  ASSERT_EQ(got.arrays.size(), 3U);
  EXPECT_EQ(got.arrays[0].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(got.arrays[0].bytes.data(), memory.data());
  EXPECT_EQ(got.arrays[1].strings, (std::vector<std::string>{"", "x"}));
  EXPECT_EQ(got.arrays[2].bytes.data(), memory.data() + 64);
  EXPECT_EQ(got.warnings, sent.warnings);
  EXPECT_EQ(shared_bytes(sent.arrays), 128U);
}

// What a worker sends that runs a stranger's model: anything.
TEST(WorkerMessages, AnythingElseIsAnError) {
  const std::vector<std::byte> memory = memory_of(256);
  const std::string body = encode(sample(memory));
  const auto reads = [&](const std::string& bytes, std::span<const std::byte> shared) {
    try {
      for (const ArrayView& array : decode_results(bytes, shared).arrays) {
        const bool inside =
            array.bytes.empty() || (array.bytes.data() >= shared.data() &&
                                    array.bytes.data() + array.bytes.size() <= shared.data() + shared.size());
        EXPECT_TRUE(inside);
      }
      return true;
    } catch (const BadMessage&) {
    } catch (const Error&) {
    }
    return false;
  };
  EXPECT_TRUE(reads(body, memory));
  EXPECT_FALSE(reads(body, std::span(memory).first(60)));
  EXPECT_FALSE(reads(body + "x", memory));
  for (size_t size = 0; size < body.size(); ++size) EXPECT_FALSE(reads(body.substr(0, size), memory)) << size;
  for (size_t at = 0; at < body.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = body;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      static_cast<void>(reads(changed, memory));  // either way, nothing outside the memory
    }
  }
}

TEST(WorkerMessages, WhatStaysInTheWorkerGoesByNumbers) {
  const std::vector<std::byte> memory = memory_of(64);
  const RunRequest sent{.session = 3,
                        .wanted = {"y"},
                        .feeds = {{"x", ir::DataType::kFloat, {2}, std::span(memory).first(8), {}}},
                        .fed = {{"h", 7}},
                        .held = {{"z", 8}, {"w", 9}},
                        .let_go = {1, 2}};
  const std::string body = encode(sent);
  const RunRequest got = decode_run(body, memory);
  ASSERT_EQ(got.fed.size(), 1U);
  EXPECT_EQ(got.fed[0].name, "h");
  EXPECT_EQ(got.fed[0].number, 7U);
  ASSERT_EQ(got.held.size(), 2U);
  EXPECT_EQ(got.held[1].number, 9U);
  EXPECT_EQ(got.let_go, (std::vector<uint64_t>{1, 2}));
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_THROW(decode_run(body.substr(0, size), memory), BadMessage) << size;
}

TEST(WorkerMessages, WeightsLieInTheirOwnMemory) {
  const std::vector<std::byte> memory = memory_of(256);
  LoadRequest sent{.session = 3, .bytes = 5, .where = "m"};
  sent.options.threads = 2;
  sent.weights.push_back({"w", ir::DataType::kFloat, {2, 3}, std::span(memory).first(24), {}});
  sent.weights.push_back({"v", ir::DataType::kFloat16, {4}, std::span(memory).first(8), {}});
  const LoadRequest got = decode_load(encode(sent), memory);
  EXPECT_EQ(got.where, "m");
  EXPECT_EQ(got.options.threads, 2);
  ASSERT_EQ(got.weights.size(), 2U);
  EXPECT_EQ(got.weights[0].bytes.data(), memory.data());
  EXPECT_EQ(got.weights[1].bytes.data(), memory.data() + 64);
  EXPECT_THROW(decode_load(encode(sent), std::span(memory).first(70)), BadMessage);
}

TEST(WorkerMessages, TextsAndTokenIdsTravel) {
  const std::string body = encode(TokenizeRequest{.max_memory = 7,
                                                  .work = TokenizerWork::kDecode,
                                                  .folder = "/f",
                                                  .text = "two words",
                                                  .chat_template = "{{x}}",
                                                  .ids = {5, 6}});
  const TokenizeRequest got = decode_tokenize(body);
  EXPECT_EQ(got.max_memory, 7U);
  EXPECT_EQ(got.folder, "/f");
  EXPECT_EQ(got.work, TokenizerWork::kDecode);
  EXPECT_EQ(got.text, "two words");
  EXPECT_EQ(got.chat_template, "{{x}}");
  EXPECT_EQ(got.ids, (std::vector<int32_t>{5, 6}));
  const std::vector<int32_t> ids = {3, -1, 70'000};
  const std::string answer = encode(Tokenized{.ids = ids, .text = "t"});
  EXPECT_EQ(decode_tokenized(answer).ids, ids);
  EXPECT_EQ(decode_tokenized(answer).text, "t");
  for (size_t size = 0; size < answer.size(); ++size)
    EXPECT_THROW(decode_tokenized(answer.substr(0, size)), BadMessage);
  EXPECT_THROW(decode_tokenized(answer + "x"), BadMessage);
}

TEST(WorkerMessages, ErrorsKeepTheirParts) {
  const Error sent(ErrorCode::kUnsupported, {.what = "a", .where = "b", .expected = "c", .next = "d"});
  const Error got = decode_error(encode(sent));
  EXPECT_EQ(got.code(), sent.code());
  EXPECT_STREQ(got.what(), sent.what());
  MessageWriter writer;
  writer.put<uint8_t>(77);
  for (int i = 0; i < 4; ++i) writer.text("");
  EXPECT_THROW(decode_error(writer.take()), BadMessage);
}

TEST(WorkerMessages, CarryProvidersAndWhereNodesRan) {
  LoadRequest sent{.session = 3, .bytes = 5, .where = "m"};
  sent.options.profile = true;
  sent.options.providers = {{"cuda", {{"device_id", "1"}, {"use_tf32", "0"}}}, {"xnnpack"}};
  const LoadRequest got = decode_load(encode(sent), {});
  EXPECT_TRUE(got.options.profile);
  EXPECT_EQ(describe(got.options.providers), "cuda:device_id=1,use_tf32=0, xnnpack");

  const Ports ports = decode_ports(encode(Ports{.runtime = {"1.31.1", {{"X", "GPU"}}}}));
  EXPECT_EQ(ports.runtime.version, "1.31.1");
  ASSERT_EQ(ports.runtime.providers.size(), 1U);
  EXPECT_EQ(ports.runtime.providers[0].device, "GPU");

  Placement placement{
      .nodes = {{"a", "MatMul", "X"}}, .timed = {{"a", "MatMul", "X", 0.5, true}}, .runs = 2, .seconds = 1};
  const std::string body = encode(placement);
  const Placement same = decode_placement(body);
  EXPECT_EQ(same.nodes.at(0).op_type, "MatMul");
  EXPECT_EQ(same.timed.at(0).seconds, 0.5);
  EXPECT_TRUE(same.timed.at(0).is_copy);
  EXPECT_EQ(same.runs, 2U);
  for (size_t size = 0; size < body.size(); ++size)
    EXPECT_THROW(decode_placement(std::string_view(body).substr(0, size)), BadMessage);
}

}  // namespace
}  // namespace thaw::run
