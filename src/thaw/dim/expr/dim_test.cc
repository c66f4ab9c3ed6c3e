// The arithmetic of sizes: what each operation evaluates to, what is unknown, and the forms that typical models lead to.
#include "thaw/dim/expr/dim.h"

#include <gtest/gtest.h>

#include "thaw/dim/expr/dim_testing.h"
#include "thaw/dim/expr/scope.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class DimTest : public ::testing::Test {
 protected:
  Dim dim(std::string_view text) { return parse(text, scope_); }
  std::string tidy(std::string_view text) { return to_string(dim(text)); }

  Scope scope_;
  Dim n_ = scope_.symbol("n");
  Dim h_ = scope_.symbol("h");
  Dim w_ = scope_.symbol("w");
};

// The multiple of the divisor that is nearest to a number at the end of the integers is past it.
TEST_F(DimTest, FloorsOfNumbersAtTheEndOfTheIntegers) {
  const Assignment at{{scope_.symbol_id(h_), 1}};
  EXPECT_EQ(evaluate(floor_div(h_ * kMax, 4), at), kMax / 4);
  EXPECT_EQ(evaluate(floor_div(h_ * -kMax, 4), at), -kMax / 4 - 1);
  EXPECT_EQ(evaluate(floor_div(h_ - kMax, 1000), at), (1 - kMax) / 1000 - 1);
}

TEST_F(DimTest, ConstantsAreIntegers) {
  EXPECT_EQ((Dim(7) + 5).constant(), 12);
  EXPECT_EQ((Dim(7) - 12).constant(), -5);
  EXPECT_EQ((Dim(7) * -3).constant(), -21);
  EXPECT_EQ(floor_div(-7, 2).constant(), -4);
  EXPECT_EQ(floor_div(7, -2).constant(), -4);
  EXPECT_EQ(floor_div(-7, -2).constant(), 3);
  EXPECT_EQ(ceil_div(-7, 2).constant(), -3);
  EXPECT_EQ(ceil_div(7, 2).constant(), 4);
  EXPECT_EQ(mod(-7, 3).constant(), 2);
  EXPECT_EQ(mod(7, -3).constant(), -2);
  EXPECT_EQ(min(3, -4).constant(), -4);
  EXPECT_EQ(max(3, -4).constant(), 3);
  EXPECT_EQ(Dim(0).constant(), 0);
  EXPECT_TRUE(Dim(0).is_constant(0));
}

TEST_F(DimTest, UnknownSpreadsAndIsNeverEqual) {
  const Dim unknown;
  EXPECT_FALSE(same(unknown, unknown));
  EXPECT_FALSE(same(unknown, 3));
  for (Dim d : {unknown + 1, 1 - unknown, unknown * n_, -unknown, floor_div(unknown, 2), mod(n_, unknown),
                min(unknown, n_), max(3, unknown), broadcast(unknown, n_), broadcast(unknown, unknown)}) {
    EXPECT_TRUE(d.is_unknown());
  }
  EXPECT_FALSE(exact_div(unknown, 1).has_value());
}

TEST_F(DimTest, WhatCannotBeRepresentedIsUnknown) {
  EXPECT_TRUE((Dim(kMax) + 1).is_unknown());
  EXPECT_TRUE((Dim(-kMax) - 1).is_unknown());
  EXPECT_TRUE((Dim(kMax) * 2).is_unknown());
  EXPECT_TRUE((kMax * n_ + n_).is_unknown());
  EXPECT_TRUE(((kMax * n_) * 3).is_unknown());
  EXPECT_TRUE(floor_div(n_, 0).is_unknown());
  EXPECT_TRUE(mod(n_, 0).is_unknown());
  EXPECT_TRUE(ceil_div(5, 0).is_unknown());
  EXPECT_TRUE(floor_div(n_ * kMax + h_, kMax).is_known());
}

TEST_F(DimTest, PastTheBudgetIsUnknown) {
  Dim sum = 0;
  for (int i = 0; i < 64; ++i) sum = sum + scope_.symbol("s" + std::to_string(i));
  EXPECT_TRUE(sum.is_known());
  EXPECT_TRUE((sum + n_).is_unknown());
  EXPECT_TRUE((sum * (sum + 1)).is_unknown());
  Dim power = n_;
  for (int i = 0; i < 100; ++i) power = power * n_;
  EXPECT_TRUE(power.is_unknown());
  Dim nested = n_;
  for (int i = 0; i < 100; ++i) nested = floor_div(nested * nested + 1, 3);
  EXPECT_TRUE(nested.is_unknown());
  scope_.set_budget(200);
  EXPECT_TRUE((sum + n_).is_known());
}

TEST_F(DimTest, SymbolsOfTwoModelsDoNotMix) {
  Scope other;
  const Dim n = other.symbol("n");
  EXPECT_FALSE(same(n, n_));
  for (Dim d : {n + n_, n - n_, n * n_, floor_div(n, n_), min(n, n_), max(n, n_), broadcast(n, n_), mod(n, n_)}) {
    EXPECT_TRUE(d.is_unknown());
  }
  EXPECT_FALSE(exact_div(n * 2, n_).has_value());
}

TEST_F(DimTest, PolynomialsHaveOneForm) {
  EXPECT_TRUE(same((n_ + h_) * (n_ - h_), n_ * n_ - h_ * h_));
  EXPECT_TRUE(same(n_ * h_ * w_, w_ * (h_ * n_)));
  EXPECT_TRUE(same(2 * n_ + 3 - n_ - 3, n_));
  EXPECT_TRUE((n_ - n_).is_constant(0));
  EXPECT_FALSE(same(n_, h_));
  const Dim dims[] = {2, n_, 3, h_};
  EXPECT_TRUE(same(product(dims), 6 * n_ * h_));
  EXPECT_TRUE(same(sum(dims), n_ + h_ + 5));
  EXPECT_TRUE(product({}).is_constant(1));
  EXPECT_TRUE(sum({}).is_constant(0));
}

TEST_F(DimTest, ChainsOfConvolutionsStayShort) {
  Dim d = h_;
  for (int i = 0; i < 5; ++i) d = floor_div(d + 2 - 3, 2) + 1;
  EXPECT_EQ(to_string(d), "ceil(h/32)");
  Dim pooled = w_;
  for (int i = 0; i < 3; ++i) pooled = floor_div(pooled - 2, 2) + 1;
  EXPECT_EQ(to_string(pooled), "floor(w/8)");
  Dim ceiled = w_;
  for (int i = 0; i < 3; ++i) ceiled = ceil_div(ceiled - 2, 2) + 1;
  EXPECT_EQ(to_string(ceiled), "ceil(w/8)");
}

struct Tidy {
  const char* text;
  const char* tidy;
};

TEST_F(DimTest, ExtremesOfTheSameTwoAddUp) {
  const Dim low = min(n_, h_ + 2), high = max(n_, h_ + 2);
  EXPECT_TRUE(same(low + high, n_ + h_ + 2));
  EXPECT_TRUE(same(3 * low + 2 * high, low + 2 * n_ + 2 * h_ + 4));
  EXPECT_TRUE(same(-low - high, -n_ - h_ - 2));
  EXPECT_TRUE(same(n_ * low + n_ * high, n_ * (n_ + h_ + 2)));
  // A roll by 2: what is cut off, and what is left.
  EXPECT_TRUE(same(min(n_, 2) + max(n_ - 2, 0), n_));
  EXPECT_FALSE(same(high - low, n_ + h_ + 2));
  EXPECT_FALSE(same(low + max(n_, h_), n_ + h_));
  EXPECT_FALSE(same(min(min(n_, h_), 7) + max(max(n_, h_), 7), n_ + h_));
}

TEST_F(DimTest, TypicalExpressionsAreTidy) {
  const Tidy cases[] = {
      {"(h + 2*1 - 3)//2 + 1", "ceil(h/2)"},
      {"floor(floor((h-1)/2)/2)", "ceil(h/4) - 1"},
      {"floor((floor((h+1)/2)+1)/2)", "ceil(h/4)"},
      {"max(n - 1, 0)", "max(n - 1, 0)"},
      {"max(n, 0)", "n"},
      {"min(n, 5)", "min(n, 5)"},
      {"min(n, 9223372036854775807)", "n"},
      {"min(n, 2147483647)", "min(n, 2147483647)"},
      {"floor(h/2)*2*w", "2*w*floor(h/2)"},
      {"8*floor(n/8)", "8*floor(n/8)"},
      {"floor(h/14)*floor(w/14)", "floor(h/14)*floor(w/14)"},
      {"floor((h % 2 + h)/2)", "ceil(h/2)"},
      {"h - floor(h/2)", "ceil(h/2)"},
      {"h - ceil(h/2)", "floor(h/2)"},
      {"floor(h/2) + ceil(h/2)", "h"},
      {"n - 4*floor(n/4)", "n % 4"},
      {"3*(h % 2) + 1", "3*(h % 2) + 1"},
      {"ceil(h/4)*4 - h", "(-h) % 4"},
      {"1 - n", "1 - n"},
      {"min(min(h, w) + 3, n)", "min(n, h + 3, w + 3)"},
      {"max(0 - h, 0 - w)", "-min(h, w)"},
      {"min(2*h, 4)", "2*min(h, 2)"},
      {"min(n, max(n, h))", "n"},
      {"floor(min(n, 5)/2)", "min(floor(n/2), 2)"},
      {"broadcast(broadcast(h, n), h)", "broadcast(n, h)"},
      {"broadcast(n, 5)", "5"},
      {"broadcast(n, 0)", "0"},
      {"broadcast(n, 1)", "n"},
      {"broadcast(n, min(n, 12))", "n"},
      {"broadcast(broadcast(h, n), min(h, 12))", "broadcast(n, h)"},
      {"broadcast(n, min(h, 12))", "broadcast(n, min(h, 12))"},
      {"broadcast(n, min(n, h))", "broadcast(n, min(n, h))"},
      {"ceil(n/h)", "ceil(n/h)"},
      {"floor((n + h)/n)", "floor(h/n) + 1"},
      {"floor(n*h*w/(h*w))", "floor(n*h*w/(h*w))"},
  };
  for (const Tidy& c : cases) EXPECT_EQ(tidy(c.text), c.tidy) << c.text;
}

TEST_F(DimTest, CancellingNeedsADivisorThatIsNeverZero) {
  EXPECT_FALSE(same(floor_div(n_ * h_, n_), h_));
  scope_.assume_range(n_, 1, std::nullopt);
  EXPECT_TRUE(same(floor_div(n_ * h_, n_), h_));
  EXPECT_TRUE(same(floor_div(n_ * h_ + n_ - 1, n_), h_ + 0 + floor_div(n_ - 1, n_)));
  EXPECT_TRUE(floor_div(n_ - 1, n_).is_constant(0));
  EXPECT_TRUE(ceil_div(n_, 2 * n_).is_constant(1));
}

TEST_F(DimTest, AssumptionsMakeExpressionsShorter) {
  scope_.assume_divisible(h_, 32);
  EXPECT_EQ(tidy("ceil(h/16)"), "floor(h/16)");
  EXPECT_EQ(tidy("16*floor(h/16)"), "h");
  EXPECT_EQ(tidy("h % 8"), "0");
  EXPECT_EQ(tidy("(h + 5) % 8"), "5");
  scope_.assume_range(w_, 2, 10);
  EXPECT_EQ(tidy("min(w, 10)"), "w");
  EXPECT_EQ(tidy("max(w, 2)"), "w");
  EXPECT_EQ(tidy("floor(w/11)"), "0");
  EXPECT_EQ(tidy("broadcast(w, n)"), "w");
}

TEST_F(DimTest, BroadcastOfWhatDoesNotGoTogetherIsUnknown) {
  EXPECT_TRUE(broadcast(2, 3).is_unknown());
  EXPECT_TRUE(broadcast(0, 3).is_unknown());
  EXPECT_TRUE(broadcast(0, 1).is_constant(0));
  EXPECT_TRUE(broadcast(4, 4).is_constant(4));
  EXPECT_TRUE(broadcast(Dim(), 4).is_constant(4));  // an unknown size is 1 or 4
  EXPECT_TRUE(broadcast(Dim(), 1).is_unknown());
}

TEST_F(DimTest, ExactDivisionIsOfPolynomials) {
  EXPECT_TRUE(same(*exact_div(6 * h_ * w_, 2 * w_), 3 * h_));
  EXPECT_TRUE(same(*exact_div(h_ * h_ - w_ * w_, h_ + w_), h_ - w_));
  EXPECT_TRUE(same(*exact_div(n_ * h_ + n_, n_), h_ + 1));
  EXPECT_TRUE(same(*exact_div(-8 * n_ + 4, -4), 2 * n_ - 1));
  EXPECT_TRUE(exact_div(0, n_)->is_constant(0));
  EXPECT_TRUE(exact_div(n_, n_)->is_constant(1));
  EXPECT_FALSE(exact_div(n_, 2).has_value());
  EXPECT_FALSE(exact_div(n_ + 1, n_).has_value());
  EXPECT_FALSE(exact_div(h_ * w_, n_).has_value());
  EXPECT_FALSE(exact_div(6, n_).has_value());
  EXPECT_FALSE(exact_div(n_, 0).has_value());
  EXPECT_FALSE(exact_div(0, 0).has_value());
  EXPECT_FALSE(exact_div(h_ * h_ + w_, h_ + w_).has_value());
}

}  // namespace
}  // namespace thaw::dim
