#include "thaw/ops/rule/window.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/ops/rule/rules_testing.h"

namespace thaw::ops {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// Output size of a pool over one axis, by going through the windows.
int64_t counted(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t begin, int64_t end, bool ceil) {
  int64_t extent = dilation * (kernel - 1) + 1, padded = in + begin + end, count = 0;
  for (int64_t start = 0;; start += stride) {
    bool whole = start + extent <= padded;
    // Rounded up, one more window may reach past the end, when the one before did not end there.
    bool partial = ceil && start - stride + extent < padded && start < in + begin;
    if (!whole && !partial) return count;
    ++count;
  }
}

TEST(Window, PoolsHaveAsManyOutputsAsWindows) {
  int checked = 0;
  for (int64_t in = 1; in <= 9; ++in)
    for (int64_t kernel = 1; kernel <= 4; ++kernel)
      for (int64_t stride = 1; stride <= 4; ++stride)
        for (int64_t dilation = 1; dilation <= 2; ++dilation)
          for (int64_t begin = 0; begin < kernel; ++begin)
            for (int64_t end = 0; end < kernel; ++end)
              for (bool ceil : {false, true}) {
                if (in + begin + end < dilation * (kernel - 1) + 1) continue;
                std::string pool = fmt::format(
                    "MaxPool <kernel_shape=[{}], strides=[{}], dilations=[{}], pads=[{}, {}], ceil_mode={}> (x)",
                    kernel, stride, dilation, begin, end, ceil ? 1 : 0);
                if ((kernel * stride + in) % 3 != 0) continue;  // a third of them, for time
                ++checked;
                EXPECT_EQ(dims_of(fmt::format("g (float[1, 1, {}] x) => (float[] y) {{ y = {} }}", in, pool)),
                          fmt::format("[1, 1, {}]", counted(in, kernel, stride, dilation, begin, end, ceil)))
                    << pool << " of " << in;
              }
  EXPECT_GT(checked, 400);
}

TEST(Window, ConvolutionOverSymbols) {
  EXPECT_EQ(dims_of("g (float[n, 3, h, w] x, float[8, 3, 3, 3] k) => (float[] y) "
                    "{ y = Conv <pads=[1, 1, 1, 1], strides=[2, 1]> (x, k) }"),
            "[n, 8, ceil(h/2), w]");
  EXPECT_EQ(dims_of("g (float[n, 3, h] x, float[m, 3, k] w) => (float[] y) { y = Conv <dilations=[2]> (x, w) }"),
            "[n, m, h - 2*k + 2]");
}

TEST(Window, SamePadsRoundUp) {
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) "
                    "{ y = AveragePool <auto_pad=\"SAME_UPPER\", kernel_shape=[3], strides=[2]> (x) }"),
            "[n, c, ceil(h/2)]");
}

TEST(Window, SaysNothingWhereRuntimesAndSpecificationDiffer) {
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) "
                    "{ y = MaxPool <auto_pad=\"VALID\", ceil_mode=1, kernel_shape=[2], strides=[3]> (x) }"),
            "[n, c, ?]");
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) "
                    "{ y = MaxPool <auto_pad=\"SAME_UPPER\", dilations=[2], kernel_shape=[3], strides=[2]> (x) }"),
            "[n, c, ?]");
}

// As ONNX Runtime 1.31 runs them: division towards zero, and no size below 0.
TEST(Window, PoolsLargerThanTheirInputAreCountedAsTheyRun) {
  struct Run {
    int64_t in, kernel, stride, begin, end;
    int ceil;
    const char* size;  // null where it is refused
  };
  const Run runs[] = {
      {1, 2, 1, 0, 0, 0, "0"},     {1, 2, 2, 0, 0, 0, "1"}, {1, 3, 2, 0, 0, 0, "0"}, {1, 3, 3, 0, 0, 0, "1"},
      {1, 3, 1, 0, 0, 0, nullptr}, {2, 5, 2, 0, 0, 0, "0"}, {2, 5, 3, 0, 0, 0, "0"}, {1, 3, 5, 0, 0, 0, "1"},
      {1, 8, 2, 0, 0, 0, nullptr}, {1, 4, 2, 0, 1, 0, "0"}, {1, 3, 3, 0, 0, 1, "1"}, {2, 5, 2, 0, 0, 1, "0"},
      {1, 8, 2, 0, 0, 1, nullptr}, {1, 4, 2, 1, 0, 0, "0"},
  };
  for (const Run& run : runs) {
    const auto inferred = infer_text(fmt::format(
        "g (float[1, 1, {}] x) => (float[] y) {{ y = MaxPool <kernel_shape=[{}], strides=[{}], pads=[{}, {}], "
        "ceil_mode={}> (x) }}",
        run.in, run.kernel, run.stride, run.begin, run.end, run.ceil));
    EXPECT_EQ(inferred.problems.empty(), run.size != nullptr) << run.in << " " << run.kernel << " " << run.stride;
    if (run.size == nullptr) continue;
    EXPECT_EQ(inferred.outputs.front(), fmt::format("[1, 1, {}]", run.size)) << run.kernel;
  }
}

TEST(Window, ConvolutionStatesItsChannels) {
  auto r = infer_text(
      "g (float[n, c, h] x, float[m, 2, 3] w, float[b] bias) => (float[] y) { y = Conv <group=3> (x, w, bias) }");
  EXPECT_THAT(r.obligations, Contains("c == 6"));
  EXPECT_THAT(r.obligations, Contains("m % 3"));
  EXPECT_THAT(r.obligations, Contains("m == b"));
  EXPECT_THAT(r.obligations, Contains("3 <= h"));
  EXPECT_THAT(
      infer_text("g (float[n, 5, h] x, float[m, 2, 3] w) => (float[] y) { y = Conv <group=3> (x, w) }").problems,
      Not(IsEmpty()));
}

TEST(Window, TransposedConvolution) {
  EXPECT_EQ(dims_of("g (float[n, 6, h, w] x, float[6, 4, 3, 2] k) => (float[] y) "
                    "{ y = ConvTranspose <strides=[2, 3], output_padding=[1, 0], group=2, pads=[1, 0, 1, 0]> (x, k) }"),
            "[n, 8, 2*h, 3*w - 1]");
  EXPECT_EQ(dims_of("g (float[n, 6, h] x, float[6, 4, 3] k) => (float[] y) "
                    "{ y = ConvTranspose <strides=[2], auto_pad=\"SAME_UPPER\"> (x, k) }"),
            "[n, 4, 2*h]");
  EXPECT_EQ(
      dims_of("g (float[n, 6, h] x, float[6, 4, 3] k) => (float[] y) { y = ConvTranspose <output_shape=[17]> (x, k) }"),
      "[n, 4, 17]");
}

}  // namespace
}  // namespace thaw::ops
