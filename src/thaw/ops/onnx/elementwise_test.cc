#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thaw/ops/rule/rules_testing.h"

namespace thaw::ops {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// The dims of ConstantOfShape over a computed shape: shows what is followed of its elements.
std::string followed(const std::string& body, const std::string& constants = "", int opset = 17) {
  return dims_of("g (float[n, h, w] x) => (float[] y) <int64[1] one = {1}, int64[1] two = {2}" + constants +
                     "> { s = Shape (x)  h = Slice (s, one, two) " + body + " y = ConstantOfShape (z) }",
                 opset);
}

TEST(Elementwise, FollowsIntegers) {
  EXPECT_EQ(followed("a = Mul (h, two)  z = Add (a, one)"), "[2*h + 1]");
  EXPECT_EQ(followed("z = Div (h, two)"), "[floor(h/2)]");
  EXPECT_EQ(followed("z = Mod (h, two)"), "[h % 2]");
  EXPECT_EQ(followed("z = Max (h, two)"), "[max(h, 2)]");
  EXPECT_EQ(followed("z = Pow (h, two)"), "[h*h]");
  EXPECT_EQ(followed("a = Neg (h)  b = Sub (one, a)  z = Abs (b)"), "[h + 1]");
}

TEST(Elementwise, FollowsFloatsThatCountSizes) {
  EXPECT_EQ(
      followed("f = Cast <to=1> (h)  m = Mul (f, half)  c = Ceil (m)  z = Cast <to=7> (c)", ", float[1] half = {0.5}"),
      "[ceil(h/2)]");
  EXPECT_EQ(followed("f = Cast <to=1> (h)  m = Mul (f, k)  c = Floor (m)  z = Cast <to=7> (c)", ", float[1] k = {0.7}"),
            "[h - ceil(3*h/10)]");
  // 0.3 in float32 is so far above three tenths that Ceil may show it.
  EXPECT_EQ(followed("f = Cast <to=1> (h)  m = Mul (f, k)  c = Ceil (m)  z = Cast <to=7> (c)", ", float[1] k = {0.3}"),
            "[?]");
  EXPECT_EQ(followed("f = Cast <to=1> (h)  m = Div (f, k)  z = Cast <to=7> (m)", ", float[1] k = {4.0}"),
            "[floor(h/4)]");
}

TEST(Elementwise, DecidesWhatRangesDecide) {
  // A size is never -1: the Where of exported Expands folds.
  EXPECT_EQ(followed("e = Equal (h, minus)  z = Where (e, one, h)", ", int64[1] minus = {-1}"), "[h]");
  // It may be 5.
  EXPECT_EQ(followed("e = Equal (h, five)  z = Where (e, one, h)", ", int64[1] five = {5}"), "[?]");
  EXPECT_EQ(followed("e = GreaterOrEqual (h, zero)  f = Not (e)  z = Where (f, one, h)", ", int64[1] zero = {0}"),
            "[h]");
}

TEST(Elementwise, WrapsNowhere) {
  // 200 + 100 is 44 in uint8: such types are not followed.
  EXPECT_EQ(dims_of("g () => (float[] y) <uint8[1] a = {200}, uint8[1] b = {100}> "
                    "{ c = Add (a, b)  d = Cast <to=7> (c)  y = ConstantOfShape (d) }"),
            "[?]");
}

TEST(Elementwise, BroadcastsSinceOpset7) {
  EXPECT_EQ(dims_of("g (float[n, 1] a, float[m] b) => (float[] y) { y = Add (a, b) }"), "[n, m]");
  EXPECT_EQ(dims_of("g (float[n] a, float[m] b) => (float[] y) { y = Add (a, b) }"), "[broadcast(n, m)]");
  EXPECT_THAT(infer_text("g (float[3] a, float[4] b) => (float[] y) { y = Add (a, b) }").problems, Not(IsEmpty()));
}

TEST(Elementwise, LegacyBroadcastKeepsTheFirstShape) {
  EXPECT_EQ(dims_of("g (float[n, c, h] a, float[c] b) => (float[] y) { y = Add <broadcast=1, axis=1> (a, b) }", 6),
            "[n, c, h]");
  EXPECT_EQ(dims_of("g (float[n, h] a, float[m, k] b) => (float[] y) { y = Mul (a, b) }", 6), "[n, h]");
  EXPECT_THAT(infer_text("g (float[n, h] a, float[m, h] b) => (float[] y) { y = Mul (a, b) }", 6).obligations,
              Contains("n == m"));
  EXPECT_EQ(dims_of("g (float[n, h] a, float[n, h] b) => (float[] y) { y = Sum (a, b) }", 6), "[n, h]");
}

TEST(Reduction, AxesAsAttributeAndAsInput) {
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) { y = ReduceMean <axes=[-1], keepdims=0> (x) }"), "[n, c]");
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) <int64[2] a = {0, 2}> { y = ReduceMean (x, a) }", 18),
            "[1, c, 1]");
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) { y = ReduceMean <noop_with_empty_axes=1> (x) }", 18),
            "[n, c, h]");
  EXPECT_EQ(dims_of("g (float[n, c, h] x) => (float[] y) { y = ReduceSum <keepdims=0> (x) }", 13), "[]");
  // Whatever it is, one of two axes goes.
  EXPECT_EQ(dims_of("g (float[n, n] x, int64[1] a) => (float[] y) { y = ReduceSum <keepdims=0> (x, a) }", 13), "[n]");
}

TEST(Reduction, FollowsProductsOfSizes) {
  EXPECT_EQ(followed("p = ReduceProd <keepdims=1> (s)  z = Mul (p, one)"), "[n*h*w]");
}

TEST(Einsum, LettersEllipsisAndImplicitOutput) {
  EXPECT_EQ(
      dims_of(
          "g (float[b, i, j] x, float[b, j, k] w) => (float[] y) { y = Einsum <equation=\"bij, bjk -> bik\"> (x, w) }"),
      "[b, i, k]");
  EXPECT_EQ(
      dims_of(
          "g (float[b, h, i, j] x, float[j, k] w) => (float[] y) { y = Einsum <equation=\"...ij,jk->...ik\"> (x, w) }"),
      "[b, h, i, k]");
  EXPECT_EQ(dims_of("g (float[j, i] x, float[k, j] w) => (float[] y) { y = Einsum <equation=\"ji,kj\"> (x, w) }"),
            "[i, k]");
  EXPECT_THAT(infer_text("g (float[j, i] x) => (float[] y) { y = Einsum <equation=\"ab->c\"> (x) }").problems,
              Not(IsEmpty()));
}

TEST(MatMul, VectorsBatchesAndObligations) {
  EXPECT_EQ(dims_of("g (float[k] a, float[k, n] b) => (float[] y) { y = MatMul (a, b) }"), "[n]");
  EXPECT_EQ(dims_of("g (float[b, 1, m, k] a, float[h, k, n] b) => (float[] y) { y = MatMul (a, b) }"), "[b, h, m, n]");
  EXPECT_THAT(infer_text("g (float[m, p] a, float[q, n] b) => (float[] y) { y = MatMul (a, b) }").obligations,
              Contains("p == q"));
  EXPECT_EQ(dims_of("g (float[k, m] a, float[n, k] b) => (float[] y) { y = Gemm <transA=1, transB=1> (a, b) }"),
            "[m, n]");
}

}  // namespace
}  // namespace thaw::ops
