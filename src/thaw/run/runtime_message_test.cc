#include "thaw/run/runtime_message.h"

#include <gtest/gtest.h>

namespace thaw::run {
namespace {

// As ONNX Runtime 1.31.1 throws them.
TEST(RuntimeMessage, LosesPlacesInSources) {
  EXPECT_EQ(one_line("Non-zero status.\n/onnxruntime_src/core/a.cc:87 void f(int, const T&) Bad  input"),
            "Non-zero status. Bad input");
  EXPECT_EQ(
      one_line("[ONNXRuntimeError] : 1 : FAIL : provider_options_utils.h:187 Parse Failed to parse provider option "
               "\"device_id\": cuda_execution_provider_info.cc:71 operator() Invalid device ID: 9"),
      "[ONNXRuntimeError] : 1 : FAIL : Failed to parse provider option \"device_id\": Invalid device ID: 9");
}

TEST(RuntimeMessage, OfCudaKeepsTheCallAlone) {
  EXPECT_EQ(
      one_line("/onnxruntime_src/onnxruntime/core/providers/cuda/cuda_call.cc:129 std::conditional_t<THRW, void, "
               "common::Status> onnxruntime::CudaCall(ERRTYPE, const char*) [with ERRTYPE = cudaError; bool THRW = "
               "true; std::conditional_t<THRW, void, common::Status> = void] CUDA failure 304: OS call failed ; "
               "GPU=-1 ; hostname=vm ; file=/onnxruntime_src/a/cuda_execution_provider.cc ; line=350 ; "
               "expr=cudaSetDevice(info_.device_id);"),
      "CUDA failure 304: OS call failed ; GPU=-1 ; expr=cudaSetDevice(info_.device_id);");
}

TEST(RuntimeMessage, OfAnotherFormStays) {
  for (const char* text : {"/onnxruntime_src/a.cc without an end", "/onnxruntime_src/a.cc:1 f(", " ; hostname=vm"})
    EXPECT_FALSE(one_line(text).empty()) << text;
}

TEST(RuntimeMessage, SaysWhoseMemoryIsTooSmall) {
  EXPECT_TRUE(says_no_memory("std::bad_alloc"));
  EXPECT_TRUE(says_no_device_memory("Available memory of 768 is smaller than requested bytes of 16384"));
  EXPECT_TRUE(says_no_device_memory("CUDA failure 2: out of memory ; GPU=0"));
  EXPECT_FALSE(says_no_device_memory("CUDA failure 304: OS call failed"));
  EXPECT_FALSE(says_no_memory("Available memory of 768 is smaller than requested bytes of 16384"));
}

}  // namespace
}  // namespace thaw::run
