// Sums of a few unknown entries each, which the entries of all traces are, and what solves them in least squares.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/math/cholesky.h"
#include "thaw/math/interpolation.h"

namespace thaw::lifting {

using math::Tap;

// Of equations that hold, relative to the largest entry; and by how much the rounding of an entry to float32 may grow in what they give.
constexpr double kMostUnequal = 4e-6, kMostMagnified = 100;

double dot(const std::vector<double>& a, const std::vector<double>& b);

class LinearSums {
 public:
  explicit LinearSums(int64_t unknowns) : unknowns_(static_cast<size_t>(unknowns)) {}
  void add(std::vector<Tap> sum) { sums_.push_back(std::move(sum)); }
  size_t count() const { return sums_.size(); }
  // How many differ. The same sum again, as of one place in two traces, confirms no more than that something is said of the place.
  size_t count_apart() const;

  // Whether some entries give these sums. scale: the largest of them. `work` is what may be spent, in multiplications.
  bool hold(std::vector<double> wanted, double scale, int64_t& work) const;

  std::vector<double> times(const std::vector<double>& entries) const;
  std::vector<double> transposed_times(const std::vector<double>& sums) const;
  // Where sums overlap with their neighbours alone, it is a narrow band.
  math::BandMatrix normal_equations() const;
  // Whether a quarter of the sums that differ follow from the others, so that they could contradict them: what none could is no reason.
  bool is_confirmed() const;

 private:
  size_t rank() const;

  size_t unknowns_;
  std::vector<std::vector<Tap>> sums_;
};

class LeastSquares {
 public:
  explicit LeastSquares(const LinearSums& sums);
  bool leaves_none_open() const { return leaves_none_open_; }
  // Where none is left open: by how much the largest error of one of the sums may grow in what solves them.
  double magnification() const;
  // Whether they leave no entry open and magnify the rounding of float32 no more than kMostMagnified.
  bool is_told() const { return leaves_none_open_ && magnification() <= kMostMagnified; }
  std::vector<double> solve(const std::vector<double>& wanted) const {
    return factor_.solve(sums_.transposed_times(wanted));
  }

 private:
  const LinearSums& sums_;
  math::BandMatrix factor_;
  bool leaves_none_open_;
};

}  // namespace thaw::lifting
