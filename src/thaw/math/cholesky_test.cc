#include "thaw/math/cholesky.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "thaw/math/dot.h"

namespace thaw::math {
namespace {

constexpr double kLeastPivot = 1e-9;

// Symmetric, and by its diagonal positive definite; zeros further than `band` from it.
std::vector<double> random_matrix(std::mt19937& random, int64_t n, int64_t band) {
  std::uniform_real_distribution<double> some(-1, 1);
  std::vector<double> a(static_cast<size_t>(n * n), 0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = std::max<int64_t>(0, i - band); j < i; ++j)
      a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)] = some(random);
    a[static_cast<size_t>(i * n + i)] = 2 * static_cast<double>(band) + 1;
  }
  return a;
}

BandMatrix as_band(const std::vector<double>& a, int64_t n, int64_t band) {
  BandMatrix matrix(static_cast<size_t>(n), static_cast<size_t>(band));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = std::max<int64_t>(0, i - band); j <= i; ++j)
      matrix.at(static_cast<size_t>(i), static_cast<size_t>(j)) = a[static_cast<size_t>(i * n + j)];
  return matrix;
}

TEST(Cholesky, TheFactorTimesItselfTurnedIsTheMatrix) {
  std::mt19937 random(1);
  for (const int64_t n : {1, 2, 7, 63, 64, 65, 200}) {
    const std::vector<double> a = random_matrix(random, n, n - 1);
    std::vector<double> factor = a;
    ASSERT_TRUE(factor_dense(factor, n));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const double again = dot(factor.data() + i * n, factor.data() + j * n, static_cast<size_t>(j + 1));
        ASSERT_NEAR(again, a[static_cast<size_t>(i * n + j)], 1e-10 * static_cast<double>(n))
            << n << ": " << i << ", " << j;
      }
    }
  }
}

TEST(Cholesky, AMatrixThatIsNotPositiveDefiniteHasNone) {
  std::mt19937 random(2);
  for (const int64_t n : {1, 5, 130}) {
    std::vector<double> a = random_matrix(random, n, n - 1);
    a.back() = -1;
    EXPECT_FALSE(as_band(a, n, n - 1).factor(kLeastPivot));
    EXPECT_FALSE(factor_dense(a, n));
  }
  BandMatrix small(1, 0);
  small.at(0, 0) = kLeastPivot / 2;
  EXPECT_FALSE(small.factor(kLeastPivot));
}

TEST(Cholesky, ABandHasTheFactorOfTheWholeMatrix) {
  std::mt19937 random(3);
  for (const auto& [n, band] : {std::pair<int64_t, int64_t>{1, 0}, {6, 0}, {9, 2}, {40, 5}, {20, 19}}) {
    std::vector<double> a = random_matrix(random, n, band);
    BandMatrix matrix = as_band(a, n, band);
    ASSERT_TRUE(matrix.factor(kLeastPivot) && factor_dense(a, n));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = std::max<int64_t>(0, i - band); j <= i; ++j)
        ASSERT_NEAR(matrix.at(static_cast<size_t>(i), static_cast<size_t>(j)), a[static_cast<size_t>(i * n + j)],
                    1e-12);
  }
}

TEST(Cholesky, WhatItSolvesIsSolved) {
  std::mt19937 random(4);
  for (const auto& [n, band] : {std::pair<int64_t, int64_t>{1, 0}, {12, 3}, {30, 29}}) {
    const std::vector<double> a = random_matrix(random, n, band);
    std::vector<double> x(static_cast<size_t>(n)), b;
    for (double& entry : x) entry = std::uniform_real_distribution<double>(-5, 5)(random);
    for (int64_t i = 0; i < n; ++i) b.push_back(dot(a.data() + i * n, x.data(), static_cast<size_t>(n)));
    BandMatrix matrix = as_band(a, n, band);
    ASSERT_TRUE(matrix.factor(kLeastPivot));
    const std::vector<double> solved = matrix.solve(b);
    for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(solved[i], x[i], 1e-10) << n;
  }
}

TEST(Dot, IsTheSumOfProducts) {
  std::vector<double> a, b;
  double sum = 0;
  for (size_t count = 0; count < 70; ++count) {
    ASSERT_EQ(dot(a.data(), b.data(), count), sum) << count;  // whole numbers: in any order the same
    a.push_back(static_cast<double>(count % 7) - 3);
    b.push_back(static_cast<double>(count % 5));
    sum += a.back() * b.back();
  }
}

}  // namespace
}  // namespace thaw::math
