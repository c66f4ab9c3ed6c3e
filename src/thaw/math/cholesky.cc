#include "thaw/math/cholesky.h"

#include <cmath>

#include <tbb/parallel_for.h>

#include "thaw/core/cancel.h"
#include "thaw/math/dot.h"

namespace thaw::math {

bool factor_dense(std::vector<double>& a, int64_t n) {
  constexpr int64_t kPanel = 64;
  const auto row = [&](int64_t i) { return a.data() + i * n; };
  for (int64_t first = 0; first < n; first += kPanel) {
    throw_if_cancelled();
    const int64_t last = std::min(n, first + kPanel);
    // Of row i, the positions [first, end) below the diagonal.
    const auto solve = [&](int64_t i, int64_t end) {
      for (int64_t j = first; j < end; ++j)
        row(i)[j] = (row(i)[j] - dot(row(i) + first, row(j) + first, static_cast<size_t>(j - first))) / row(j)[j];
    };
    for (int64_t i = first; i < last; ++i) {
      solve(i, i);
      const double pivot = row(i)[i] - dot(row(i) + first, row(i) + first, static_cast<size_t>(i - first));
      if (!(pivot > 0)) return false;
      row(i)[i] = std::sqrt(pivot);
    }
    // Rows below the panel, each by itself; then what the panel takes off the rest.
    tbb::parallel_for(last, n, [&](int64_t i) { solve(i, last); });
    tbb::parallel_for(last, n, [&](int64_t i) {
      for (int64_t j = last; j <= i; ++j)
        row(i)[j] -= dot(row(i) + first, row(j) + first, static_cast<size_t>(last - first));
    });
  }
  return true;
}

// Sums begin at the diagonal and go outward.
bool BandMatrix::factor(double least_pivot) {
  for (size_t i = 0; i < n_; ++i) {
    for (size_t j = first_of(i); j < i; ++j) {
      for (size_t k = j; k-- > first_of(i);) at(i, j) -= at(i, k) * at(j, k);
      at(i, j) /= at(j, j);
    }
    for (size_t k = i; k-- > first_of(i);) at(i, i) -= at(i, k) * at(i, k);
    if (at(i, i) < least_pivot) return false;
    at(i, i) = std::sqrt(at(i, i));
  }
  return true;
}

std::vector<double> BandMatrix::solve(std::vector<double> b) const {
  std::vector<double> x = std::move(b);
  for (size_t i = 0; i < n_; ++i) {
    for (size_t k = i; k-- > first_of(i);) x[i] -= at(i, k) * x[k];
    x[i] /= at(i, i);
  }
  for (size_t i = n_; i-- > 0;) {
    for (size_t k = i + 1; k < n_ && k - i <= band_; ++k) x[i] -= at(k, i) * x[k];
    x[i] /= at(i, i);
  }
  return x;
}

}  // namespace thaw::math
