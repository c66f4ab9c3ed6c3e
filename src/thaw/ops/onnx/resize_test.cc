#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"
#include "thaw/ops/rule/rules_testing.h"
#include "thaw/ops/rule/scale.h"

namespace thaw::ops {
namespace {

TEST(Scale, IsWhatFloat32ProductsFloorTo) {
  for (float s :
       {2.0F, 0.5F, 1.5F, 0.3F, 0.6F, 0.7F, 0.8F, 0.9F, 1.0F / 3, 2.0F / 3, 1.1F, 0.0625F, 1.3333334F, 0.123F, 2.7F}) {
    dim::Scope scope;
    dim::Dim n = scope.symbol("n");
    dim::Dim size = scaled_size(n, Element::real(s));
    if (size.is_unknown()) continue;
    for (int64_t v = 0; v < 5000; ++v) {
      auto said = dim::evaluate(size, {{scope.symbol_id(n), v}});
      ASSERT_TRUE(said);
      ASSERT_EQ(*said, static_cast<int64_t>(std::floor(static_cast<float>(v) * s))) << v << " * " << s;
    }
  }
}

TEST(Scale, SimpleScalesHaveExpressions) {
  dim::Scope scope;
  dim::Dim n = scope.symbol("n");
  EXPECT_EQ(dim::to_string(scaled_size(n, Element::real(2))), "2*n");
  EXPECT_EQ(dim::to_string(scaled_size(n, Element::real(0.5))), "floor(n/2)");
  EXPECT_EQ(dim::to_string(scaled_size(n, Element::real(0.6F))), "n - ceil(2*n/5)");
  EXPECT_TRUE(scaled_size(n, Element::real(-1)).is_unknown());
  EXPECT_TRUE(scaled_size(n, Element::real(0.1234567F)).is_unknown());
}

TEST(Resize, BySizesScalesAndRatios) {
  EXPECT_EQ(dims_of("g (float[n, c, h, w] x) => (float[] y) <float[4] s = {1.0, 1.0, 2.0, 0.5}, float[0] roi = {}> "
                    "{ y = Resize (x, roi, s) }"),
            "[n, c, 2*h, floor(w/2)]");
  // Scales from shapes: as many pixels as another tensor has.
  EXPECT_EQ(dims_of(R"(g (float[n, c, h, w] x, float[a, b, p, q] other) => (float[] y)
                       <float[0] roi = {}, int64[1] two = {2}, int64[1] four = {4}, float[2] ones = {1.0, 1.0}> {
                         xs = Shape (x)  os = Shape (other)
                         xhw = Slice (xs, two, four)  ohw = Slice (os, two, four)
                         xf = Cast <to=1> (xhw)  of = Cast <to=1> (ohw)
                         ratio = Div (of, xf)
                         scales = Concat <axis=0> (ones, ratio)
                         y = Resize (x, roi, scales) })"),
            "[n, c, p, q]");
  EXPECT_EQ(
      dims_of("g (float[n, c, h, w] x, int64[2] sizes) => (float[] y) { y = Resize <axes=[2, 3]> (x, , , sizes) }", 18),
      "[n, c, sizes[0], sizes[1]]");
}

TEST(Resize, KeepsTheAspectRatio) {
  for (auto [policy, dims] : {std::pair{"not_larger", "[1, 3, 45, 60]"}, {"not_smaller", "[1, 3, 60, 80]"}})
    EXPECT_EQ(dims_of(fmt::format("g (float[1, 3, 30, 40] x) => (float[] y) <int64[2] s = {{60, 60}}> "
                                  "{{ y = Resize <axes=[2, 3], keep_aspect_ratio_policy=\"{}\"> (x, , , s) }}",
                                  policy),
                      18),
              dims);
}

TEST(Resize, UpsampleOfEveryOpset) {
  EXPECT_EQ(
      dims_of("g (float[n, c, h, w] x) => (float[] y) { y = Upsample <height_scale=2.0, width_scale=3.0> (x) }", 1),
      "[n, c, 2*h, 3*w]");
  EXPECT_EQ(dims_of("g (float[n, c, h, w] x) => (float[] y) { y = Upsample <scales=[1.0, 1.0, 2.0, 1.5]> (x) }", 7),
            "[n, c, 2*h, w + floor(w/2)]");
  EXPECT_EQ(dims_of("g (float[n, h] x) => (float[] y) <float[2] s = {1.0, 4.0}> { y = Upsample (x, s) }", 9),
            "[n, 4*h]");
  EXPECT_EQ(dims_of("g (float[n, h] x) => (float[] y) <float[2] s = {1.0, 4.0}> { y = Resize (x, s) }", 10),
            "[n, 4*h]");
}

}  // namespace
}  // namespace thaw::ops
