// Cholesky's factor L of a symmetric matrix that is positive definite, A = L L^T, and what it solves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace thaw::math {

// In place, of a large matrix [n, n]: its lower half becomes L. By panels, on all processors and with their vectors, on
// which the last bits hang. Returns whether the matrix is positive definite; if not, what it holds means nothing.
bool factor_dense(std::vector<double>& a, int64_t n);

// A matrix of which nothing but zeros stands further than `band` columns from the diagonal, and then its factor, which
// needs no more room. One step after the other: the same bits on every processor.
class BandMatrix {
 public:
  BandMatrix(size_t n, size_t band) : n_(n), band_(band), lower_(n * (band + 1), 0) {}

  // Of the lower half: row - band <= column <= row.
  double& at(size_t row, size_t column) { return lower_[row * (band_ + 1) + (row - column)]; }
  double at(size_t row, size_t column) const { return lower_[row * (band_ + 1) + (row - column)]; }

  // In place. Returns whether every pivot is `least_pivot` or more.
  bool factor(double least_pivot);
  // Of the factor L: x with L L^T x = b.
  std::vector<double> solve(std::vector<double> b) const;

 private:
  size_t first_of(size_t row) const { return row - std::min(row, band_); }

  size_t n_, band_;
  std::vector<double> lower_;  // row by row, from the diagonal outward
};

}  // namespace thaw::math
