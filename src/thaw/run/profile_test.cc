#include "thaw/run/profile.h"

#include <cstdio>

#include <gtest/gtest.h>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

TEST(Profile, AddsUpWhatEachNodeTook) {
  Placement placement;
  add_profile(R"([
    {"cat": "Session", "name": "model_loading_uri", "dur": 900},
    {"cat": "Node", "name": "a_fence_before", "dur": 7, "args": {"op_name": "MatMul"}},
    {"cat": "Node", "name": "a_kernel_time", "dur": 10, "args": {"op_name": "MatMul", "provider": "CPUExecutionProvider"}},
    {"cat": "Node", "name": "Memcpy_kernel_time", "dur": 2, "args": {"op_name": "MemcpyToHost", "provider": "X"}},
    {"cat": "Session", "name": "model_run", "dur": 40},
    {"cat": "Node", "name": "a_kernel_time", "dur": 5, "args": {"op_name": "MatMul", "provider": "CPUExecutionProvider"}},
    {"cat": "Session", "name": "model_run", "dur": 20}, 3, null])",
              "m", placement);
  ASSERT_EQ(placement.timed.size(), 2U);
  EXPECT_EQ(placement.timed[0].name, "a");
  EXPECT_EQ(placement.timed[0].op_type, "MatMul");
  EXPECT_DOUBLE_EQ(placement.timed[0].seconds, 15e-6);
  EXPECT_FALSE(placement.timed[0].is_copy);
  EXPECT_TRUE(placement.timed[1].is_copy);
  EXPECT_EQ(placement.runs, 2U);
  EXPECT_DOUBLE_EQ(placement.seconds, 60e-6);
}

// The form in which ONNX Runtime's CUDA provider writes what CUPTI records.
TEST(Profile, CopiesThatADeviceRecordedAreCopies) {
  Placement placement;
  add_profile(R"([
    {"cat": "Kernel", "name": "MemcpyHostToDevice", "dur": 3, "args": {"stream": "7", "grid_x": "-1"}},
    {"cat": "Kernel", "name": "MemcpyHostToDevice", "dur": 4, "args": {"stream": "7", "op_name": "MatMul"}},
    {"cat": "Kernel", "name": "MemcpyDeviceToHost", "dur": 5},
    {"cat": "Kernel", "name": "MemcpyDeviceToDevice", "dur": 6},
    {"cat": "Kernel", "name": "MemcpyDeviceToHost", "dur": 8, "args": {"op_name": "MemcpyToHost"}},
    {"cat": "Kernel", "name": "gemm<float>", "dur": 9, "args": {"op_name": "MatMul"}},
    {"cat": "Node", "name": "Memcpy_kernel_time", "dur": 2, "args": {"op_name": "MemcpyToHost", "provider": "X"}}])",
              "m", placement);
  ASSERT_EQ(placement.timed.size(), 3U);
  EXPECT_EQ(placement.timed[0].op_type, "MemcpyHostToDevice");
  EXPECT_DOUBLE_EQ(placement.timed[0].seconds, 7e-6);
  EXPECT_EQ(placement.timed[1].op_type, "MemcpyDeviceToHost");
  EXPECT_DOUBLE_EQ(placement.timed[1].seconds, 5e-6);
  EXPECT_EQ(placement.timed[2].op_type, "MemcpyToHost");
  for (const TimedNode& node : placement.timed) EXPECT_TRUE(node.is_copy);
}

TEST(Profile, WhatIsNoneIsRefused) {
  Placement placement;
  for (const char* text : {"", "{}", "[", R"([{"name": "a"b"}])"})
    EXPECT_THROW(add_profile(text, "m", placement), Error);
}

TEST(Profile, APathOfItsFolderIsMemory) {
  EXPECT_EQ(profile_memory("/tmp/else"), -1);
  EXPECT_EQ(profile_memory(nullptr), -1);
  const std::string path = std::string(kProfileFolder) + "one.json";
  std::FILE* const file = ::fdopen(profile_memory(path.c_str()), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("[]", file);
  std::fclose(file);
  EXPECT_EQ(take_profile(path), "[]");
  EXPECT_EQ(take_profile(path), "");
}

}  // namespace
}  // namespace thaw::run
