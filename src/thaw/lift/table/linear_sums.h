// Sums of a few unknown entries each, which the entries of all traces are, and what solves them in least squares.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "thaw/lift/table/learned_grid.h"

namespace thaw::lifting {

double dot(const std::vector<double>& a, const std::vector<double>& b);

class LinearSums {
 public:
  explicit LinearSums(int64_t unknowns) : unknowns_(static_cast<size_t>(unknowns)) {}
  void add(std::vector<Tap> sum) { sums_.push_back(std::move(sum)); }
  size_t unknowns() const { return unknowns_; }
  size_t count() const { return sums_.size(); }

  // Whether some entries give these sums. scale: the largest of them. `work` is what may be spent, in multiplications.
  bool hold(std::vector<double> wanted, double scale, int64_t& work) const;

  std::vector<double> times(const std::vector<double>& entries) const;
  std::vector<double> transposed_times(const std::vector<double>& sums) const;
  std::vector<double> squares() const;  // the normal equations, row by row
  // Whether a quarter of the sums or more follow from the others, so that they could contradict them: what none could is no reason.
  bool is_confirmed() const;

 private:
  size_t rank() const;

  size_t unknowns_;
  std::vector<std::vector<Tap>> sums_;
};

// What solves them, where they leave no entry open and magnify the rounding of float32 no more than kMostMagnified.
class LeastSquares {
 public:
  explicit LeastSquares(const LinearSums& sums);
  bool is_told() const { return is_told_; }
  std::vector<double> solve(const std::vector<double>& wanted) const { return back(sums_.transposed_times(wanted)); }

 private:
  double& at(size_t row, size_t column) { return lower_[row * n_ + column]; }
  double at(size_t row, size_t column) const { return lower_[row * n_ + column]; }
  bool factor();
  std::vector<double> back(std::vector<double> x) const;

  const LinearSums& sums_;
  size_t n_;
  std::vector<double> lower_;
  bool is_told_;
};

}  // namespace thaw::lifting
