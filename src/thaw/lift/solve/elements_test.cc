#include "thaw/lift/solve/elements.h"

#include <gtest/gtest.h>

#include "thaw/dim/expr/scope.h"

namespace thaw::lifting {
namespace {

struct Windows {
  dim::Scope scope;
  dim::Dim tall = dim::ceil_div(scope.symbol("height"), 224), wide = dim::ceil_div(scope.symbol("width"), 224);
};

// Windows of 7 rows, one along the height in each trace: the 7 stays, and the 1 is how many there are.
TEST(Elements, AOneBesideAFactorIsHowManyThereAre) {
  Windows w;
  const std::vector<Variable> data{{.symbol = dim::Dim(1), .at = {1, 1, 1}},
                                   {.symbol = w.tall * dim::Dim(7), .at = {7, 7, 7}},
                                   {.symbol = w.wide * dim::Dim(7), .at = {7, 7, 14}}};
  const std::vector<std::vector<int64_t>> made{{1, 1, 1}, {1, 1, 1}, {7, 7, 7}, {1, 1, 2}, {7, 7, 7}};
  ops::Shape sizes{dim::Dim(1), dim::Dim(1), dim::Dim(7), w.wide, dim::Dim(7)};
  keep_axes(sizes, data, made);
  EXPECT_TRUE(std::ranges::equal(sizes, ops::Shape{dim::Dim(1), w.tall, dim::Dim(7), w.wide, dim::Dim(7)}, dim::same));
}

TEST(Elements, WindowsThatAreGivenBack) {
  Windows w;
  const ops::Shape before{dim::Dim(1), w.tall, w.wide, dim::Dim(7)};
  ops::Shape sizes{dim::Dim(-1), dim::Dim(1), w.tall * w.wide, dim::Dim(7)};
  keep_given_back(sizes, before);
  EXPECT_TRUE(std::ranges::equal(sizes, ops::Shape{dim::Dim(-1), w.tall, w.wide, dim::Dim(7)}, dim::same));
  keep_given_back(sizes, {});
  EXPECT_TRUE(dim::same(sizes[1], w.tall));
}

}  // namespace
}  // namespace thaw::lifting
