#include "thaw/run/session.h"

#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/core/error_testing.h"
#include "thaw/limits.h"
#include "thaw/run/run_testing.h"
#include "thaw/run/runtime.h"

namespace thaw::run {
namespace {

using ir::DataType;
using testing::HasSubstr;

constexpr const char* kAdd = "g (float[n,3] x, float[n,3] y) => (float[n,3] z) { z = Add(x, y) }";

Array floats_of(std::vector<int64_t> dims, std::vector<double> values) {
  return Array::from_doubles(DataType::kFloat, std::move(dims), values);
}

TEST(Session, RunsAModelFromAFileAndFromMemory) {
  const ModelFolder folder;
  const auto path = folder.write_model("add", kAdd);
  const Arrays feeds{{"x", floats_of({2, 3}, {1, 2, 3, 4, 5, 6})}, {"y", floats_of({2, 3}, {1, 1, 1, 1, 1, 0.5})}};
  Session from_file(path);
  EXPECT_EQ(from_file.run(feeds).at("z"), floats_of({2, 3}, {2, 3, 4, 5, 6, 6.5}));
  Session from_memory(*ir::load(path));
  EXPECT_EQ(from_memory.run(feeds).at("z"), floats_of({2, 3}, {2, 3, 4, 5, 6, 6.5}));
  ASSERT_EQ(from_file.inputs().size(), 2U);
  EXPECT_EQ(from_file.inputs()[1].name, "y");
  EXPECT_EQ(from_file.find_output("z")->dtype, DataType::kFloat);
  EXPECT_EQ(from_file.find_output("x"), nullptr);
}

TEST(Session, FindsTheDataOfAModelFromMemoryInItsFolder) {
  const ModelFolder folder;
  const auto given = ir::load(
      folder.write_model("add", "g (float[n,3] x) => (float[n,3] z) <float[3] w = {1, 2, 3}> { z = Add(x, w) }"));
  const auto path = folder.path() / "external.onnx";
  ir::save(*given, path, {.external = ir::ExternalPolicy::kSingle, .threshold = 1});
  const auto bytes = std::make_shared<const std::string>(ir::serialize(*ir::load(path)));
  const auto parse = [&](const std::filesystem::path& where) {
    return ir::parse(std::as_bytes(std::span(*bytes)), bytes, where);
  };
  const Arrays feeds{{"x", floats_of({1, 3}, {1, 1, 1})}};
  for (const bool in_process : {false, true}) {
    Session session(*parse(folder.path()), {.in_process = in_process});
    EXPECT_EQ(session.run(feeds).at("z"), floats_of({1, 3}, {2, 3, 4}));
  }
  const TempFolder other;
  EXPECT_THAT(error_of([&] { Session(*parse(other.path())); }), HasSubstr("external.onnx.data"));
}

TEST(Session, EmptyAndScalarAndStringTensorsPassThrough) {
  const ModelFolder folder;
  Session session(
      folder.write_model("identity", R"(g (float[n,3] x, int64 s, string[m] t) => (float[n,3] a, int64 b, string[m] c) {
    a = Identity(x)
    b = Identity(s)
    c = Identity(t)
  })"));
  const Arrays feeds{{"x", Array::zeros(DataType::kFloat, {0, 3})},
                     {"s", Array::from_int64(DataType::kInt64, {}, std::vector<int64_t>{-7})},
                     {"t", Array::from_strings({2}, {"", "größe"})}};
  const Arrays outputs = session.run(feeds);
  EXPECT_EQ(outputs.at("a"), feeds.at("x"));
  EXPECT_EQ(outputs.at("b"), feeds.at("s"));
  EXPECT_EQ(outputs.at("c"), feeds.at("t"));
  const std::vector<std::string> wanted{"b"};
  EXPECT_EQ(session.run(feeds, wanted).size(), 1U);
}

TEST(Session, DefaultsNeedNotBeFed) {
  const ModelFolder folder;
  Session session(folder.write_model("scaled", R"(g (float[n] x, float s = {2}) => (float[n] y) { y = Mul(x, s) })"));
  EXPECT_TRUE(session.find_input("s")->has_default);
  EXPECT_EQ(session.run({{"x", floats_of({2}, {1, 3})}}).at("y"), floats_of({2}, {2, 6}));
  EXPECT_EQ(session.run({{"x", floats_of({2}, {1, 3})}, {"s", floats_of({}, {5})}}).at("y"), floats_of({2}, {5, 15}));
}

TEST(Session, WhatIsRefusedIsAnErrorThatSaysWhy) {
  const ModelFolder folder;
  Session session(folder.write_model("frozen", R"(g (float[n] x) => (y) <int64[2] s = {2, 3}> { y = Reshape(x, s) })"));
  EXPECT_THAT(error_of([&] { session.run({{"x", Array::zeros(DataType::kFloat, {7})}}); }),
              testing::AllOf(HasSubstr("frozen.onnx"), HasSubstr("ONNX Runtime"), HasSubstr("Reshape")));
  EXPECT_THAT(error_of([&] { session.run({}); }), HasSubstr("input 'x' is not fed"));
  EXPECT_THAT(error_of([&] { session.run({{"z", floats_of({}, {1})}}); }), HasSubstr("has no input 'z'"));
  EXPECT_THAT(error_of([&] { session.run({{"x", Array::zeros(DataType::kDouble, {6})}}); }),
              testing::AllOf(HasSubstr("float64[6]"), HasSubstr("expected float32")));
  const std::vector<std::string> wanted{"none"};
  EXPECT_THAT(error_of([&] { session.run({{"x", floats_of({6}, {1, 2, 3, 4, 5, 6})}}, wanted); }),
              HasSubstr("no output 'none'"));
  EXPECT_EQ(session.run({{"x", floats_of({6}, {1, 2, 3, 4, 5, 6})}}).at("y").dims, (std::vector<int64_t>{2, 3}));
  EXPECT_THAT(error_of([&] { Session missing(folder.path() / "missing.onnx"); }), HasSubstr("No such file"));
  const auto unknown = folder.write_model("unknown", "g (float[n] x) => (float[n] y) { y = NoSuchOperator(x) }");
  EXPECT_THAT(error_of([&] { Session bad(unknown); }), HasSubstr("NoSuchOperator"));
}

// From session to session, in the worker and in this process, after the session that made it has gone.
TEST(Session, ArraysStayWhereTheyAreComputed) {
  const ModelFolder folder;
  const auto add = folder.write_model("add", kAdd);
  const auto twice =
      folder.write_model("twice", "g (float[n,3] a) => (float[n,3] b, float[n,3] c) { b = Add(a, a) c = Neg(a) }");
  const Arrays feeds{{"x", floats_of({1, 3}, {1, 2, 3})}, {"y", floats_of({1, 3}, {1, 1, 1})}};
  const std::vector<std::string> z{"z"}, b{"b"}, c{"c"};
  for (const bool in_process : {false, true}) {
    const SessionOptions options{.in_process = in_process};
    HeldArrays held;
    {
      Session first(add, options);
      Values made = first.run(feeds, {}, {}, z);
      EXPECT_TRUE(made.arrays.empty());
      held.emplace("a", made.held.at("z"));
    }
    Session second(twice, options);
    for (int i = 0; i < 2; ++i) {
      const Values made = second.run({}, held, c, b);
      EXPECT_EQ(made.arrays.at("c"), floats_of({1, 3}, {-2, -3, -4}));
      EXPECT_EQ(made.arrays.size(), 1U);
      held = {{"a", made.held.at("b")}};
      EXPECT_EQ(second.run({}, held, b, {}).arrays.at("b"), floats_of({1, 3}, {8, 12, 16}));
      held = {{"a", second.run({{"a", floats_of({1, 3}, {1, 1.5, 2})}}, {}, {}, b).held.at("b")}};
    }
    EXPECT_THAT(error_of([&] { second.run({}, {{"q", held.at("a")}}, b, {}); }), HasSubstr("has no input 'q'"));
    EXPECT_THAT(error_of([&] { second.run({}, {}, b, {}); }), HasSubstr("'a' is not fed"));
    // What one process holds is nothing to the other.
    Session elsewhere(twice, {.in_process = !in_process});
    EXPECT_THROW(elsewhere.run({}, held, b, {}), HeldArrayLost);
  }
}

TEST(Session, WarningsAreKeptNotPrinted) {
  const ModelFolder folder;
  // The output is declared [n, 4] and is [n, 3]: ONNX Runtime runs it and warns.
  Session session(
      folder.write_model("lies", R"(g (float[n,k] x, int64[2] s) => (float[n,4] y) { y = Reshape(x, s) })"));
  testing::internal::CaptureStderr();
  session.run({{"x", Array::zeros(DataType::kFloat, {2, 3})},
               {"s", Array::from_int64(DataType::kInt64, {2}, std::vector<int64_t>{2, 3})}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const std::vector<std::string> warnings = session.take_warnings();
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("does not match actual shape"));
  EXPECT_TRUE(session.take_warnings().empty());
}

#ifndef __SANITIZE_THREAD__  // which does not see what ONNX Runtime's own threads agree on
TEST(Session, RunsInThisProcessWhereThatIsAskedFor) {
  const ModelFolder folder;
  const auto path = folder.write_model("add", kAdd);
  const Arrays feeds{{"x", floats_of({1, 3}, {1, 2, 3})}, {"y", floats_of({1, 3}, {1, 1, 1})}};
  for (const bool in_process : {true, false}) {
    SessionOptions options;
    options.in_process = in_process;
    EXPECT_EQ(Session(path, options).run(feeds).at("z"), floats_of({1, 3}, {2, 3, 4}));
    EXPECT_EQ(Session(*ir::load(path), options).run(feeds).at("z"), floats_of({1, 3}, {2, 3, 4}));
  }
}

#endif

TEST(Session, LargeArraysPassThroughAndWhatFollowsIsRight) {
  const ModelFolder folder;
  Session session(folder.write_model("add", kAdd));
  for (const int64_t rows : {3, 7'000'000, 5, 100'000, 0}) {
    Array x = Array::zeros(DataType::kFloat, {rows, 3}), y = x;
    for (size_t i = 0; i + 4 < x.bytes.size(); i += 4099) x.bytes[i] = std::byte{0x3f};
    EXPECT_EQ(session.run({{"x", x}, {"y", y}}).at("z"), x) << rows;
  }
}

TEST(Session, RunsInSeveralThreadsAtATime) {
  const ModelFolder folder;
  Session add(folder.write_model("add", kAdd));
  Session frozen(folder.write_model("frozen", R"(g (float[n] x) => (y) <int64[2] s = {2, 3}> { y = Reshape(x, s) })"));
  std::atomic<int> right = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 6; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 40; ++i) {
        const Array x = floats_of({1, 3}, {1.0 * k, 1.0 * i, 0});
        right += add.run({{"x", x}, {"y", x}}).at("z") == floats_of({1, 3}, {2.0 * k, 2.0 * i, 0});
        try {
          frozen.run({{"x", Array::zeros(DataType::kFloat, {7})}});
        } catch (const Error&) {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 240);
  EXPECT_EQ(refused, 240);
}

constexpr const char* kEndless = R"(g (float[n] x) => (float[n] y) <bool go = {1}> {
    y = Loop("", go, x) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w) { d = Identity(c) w = Neg(v) }>
  })";

// Limits that hold while it lives.
class WithLimits {
 public:
  explicit WithLimits(const Limits& wanted) : before_(limits()) { set_limits(wanted); }
  WithLimits(const WithLimits&) = delete;
  WithLimits& operator=(const WithLimits&) = delete;
  ~WithLimits() { set_limits(before_); }

 private:
  Limits before_;
};

TEST(Session, ALargeModelFromMemoryIsLoadedAgainWhereItsProcessEnded) {
  const ModelFolder folder;
  std::optional<Session> large;
  {
    const auto model = ir::load(folder.write_model(
        "add", "g (float[n] x) => (float[n] y) <float[1] w = {1}> { most = ReduceMax(w) y = Add(x, most) }"));
    const auto filled = [](const std::string& name, int64_t count, float last) {
      std::vector<std::byte> bytes(static_cast<size_t>(count) * 4);
      std::memcpy(&bytes[bytes.size() - 4], &last, 4);
      return ir::Tensor::from_bytes(name, DataType::kFloat, {count}, std::move(bytes));
    };
    model->graph->replace_initializer(model->graph->find("w"), filled("w", int64_t{70} << 20, 1));
    model->graph->add_initializer(filled("read by nothing", int64_t{1} << 20, 2));
    large.emplace(*model);
  }
  Session endless(folder.write_model("endless", kEndless));
  {
    const WithLimits limits({.timeout = 1});
    EXPECT_THROW(endless.run({{"x", floats_of({1}, {1})}}), RunTimedOut);
  }
  EXPECT_EQ(large->run({{"x", floats_of({2}, {1, 2})}}).at("y"), floats_of({2}, {2, 3}));
}

TEST(Session, ARunThatTakesTooLongIsStoppedAndOthersGoOn) {
  const ModelFolder folder;
  Session add(folder.write_model("add", kAdd)), endless(folder.write_model("endless", kEndless));
  const Array x = floats_of({1, 3}, {1, 2, 3});
  const WithLimits limits({.timeout = 4});  // in which the others are loaded again too
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  // They lose their process when the endless one is stopped, and do not notice.
  std::thread other([&] {
    while (!done) wrong += add.run({{"x", x}, {"y", x}}).at("z") != floats_of({1, 3}, {2, 4, 6});
  });
  EXPECT_THROW(endless.run({{"x", floats_of({2}, {1, 2})}}), RunTimedOut);
  done = true;
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(add.run({{"x", x}, {"y", x}}).at("z"), floats_of({1, 3}, {2, 4, 6}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Session, MemoryIsThatOfTheLimitWhenTheRunBegins) {
  const ModelFolder folder;
  Session session(folder.write_model("wide", R"(g (float[1] x, int64[1] s) => (float m) {
    e = Expand(x, s)
    m = ReduceMax <keepdims = 0>(e)
  })"));
  const auto feeds = [](int64_t size) {
    return Arrays{{"x", floats_of({1}, {3})},
                  {"s", Array::from_int64(DataType::kInt64, {1}, std::vector<int64_t>{size})}};
  };
  {
    const WithLimits limits({.max_memory = uint64_t{200} << 20});
    EXPECT_THAT(error_of([&] { session.run(feeds(int64_t{1} << 28)); }), HasSubstr("--max-memory 200 MiB"));
    EXPECT_EQ(session.run(feeds(1000)).at("m"), floats_of({}, {3}));
  }
  EXPECT_EQ(session.run(feeds(int64_t{1} << 27)).at("m"), floats_of({}, {3}));
}

TEST(Session, WeightsThatAreNotCopiedDoNotCountForTheLimit) {
  constexpr int64_t kRows = 4096, kColumns = 16384;
  const ModelFolder folder;
  const auto path = folder.path() / "external.onnx";
  {
    const auto model = ir::load(folder.write_model(
        "product", "g (float[n,4096] x) => (float[n,16384] y) <float[1] w = {1}> { y = MatMul(x, w) }"));
    std::vector<std::byte> bytes(static_cast<size_t>(kRows * kColumns) * sizeof(float));
    const float one = 1;
    for (size_t at = 0; at < bytes.size(); at += sizeof(one)) std::memcpy(&bytes[at], &one, sizeof(one));
    model->graph->replace_initializer(
        model->graph->find("w"), ir::Tensor::from_bytes("w", DataType::kFloat, {kRows, kColumns}, std::move(bytes)));
    ir::save(*model, path, {.external = ir::ExternalPolicy::kSingle});
  }
  const WithLimits limits({.max_memory = uint64_t{200} << 20});  // weights are 256 MiB
  Session mapped(path, {.threads = 1, .copied_weights = false});
  const Arrays made = mapped.run({{"x", floats_of({1, kRows}, std::vector<double>(kRows, 1))}});
  EXPECT_EQ(made.at("y"), floats_of({1, kColumns}, std::vector<double>(kColumns, kRows)));
}
#endif

TEST(Session, WithoutCopiesOfWeightsItComputesTheSame) {
  const ModelFolder folder;
  const auto path = folder.write_model("blocks", R"(g (float[n,4] x) => (float[n,2] y)
    <uint8[4,2] codes = {1, 2, 3, 4, 5, 6, 7, 8}, float scale = {0.5}, float16[2] half = {15360, 16384}> {
    w = DequantizeLinear(codes, scale)
    b = Cast <to = 1>(half)
    p = MatMul(x, w)
    y = Add(p, b)
  })");
  const Arrays feeds{{"x", floats_of({1, 4}, {1, 2, 3, 4})}};
  // (codes - 0) / 2 and halves are exact, and so are their sums.
  EXPECT_EQ(Session(path, {.copied_weights = false}).run(feeds).at("y"), floats_of({1, 2}, {26, 32}));
}

TEST(Session, APartOfAModelMapsAPartOfItsFile) {
  const ModelFolder folder;
  const auto path = folder.path() / "external.onnx";
  const auto model = ir::load(folder.write_model(
      "add", "g (float[n] x) => (float[n] z) <float[1] a = {1}, float[1] b = {1}> { y = Add(x, a) z = Add(y, b) }"));
  constexpr int64_t kCount = 100'000;
  for (const char* name : {"a", "b"})
    model->graph->replace_initializer(
        model->graph->find(name),
        ir::Tensor::from_bytes(name, DataType::kFloat, {kCount}, std::vector<std::byte>(kCount * 4)));
  ir::save(*model, path, {.external = ir::ExternalPolicy::kSingle, .threshold = 1});
  const auto whole = ir::load(path);
  const uint64_t both = ir::mapped_bytes_of(*whole);
  EXPECT_GE(both, kCount * 8U);
  ir::Value* b = whole->graph->find("b");
  whole->graph->replace_initializer(b, ir::Tensor::from_bytes("b", DataType::kFloat, {1}, std::vector<std::byte>(4)));
  EXPECT_EQ(ir::mapped_bytes_of(*whole), both / 2);
}

}  // namespace
}  // namespace thaw::run
