// What is known of the inputs of a product: its rows as samples gave them, summed up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace thaw::quantizing::blocks {

// Of x [rows, k], all samples' rows one below the other.
struct ColumnStatistics {
  explicit ColumnStatistics(int64_t k, bool with_products = false);

  int64_t rows = 0;
  std::vector<double> sum;          // [k]
  std::vector<double> sum_abs;      // [k]
  std::vector<double> sum_squares;  // [k]
  std::vector<float> products;      // x^T x / unit^2, [k, k], where it is gathered; its upper half holds until finish()
  double unit = 1;                  // a power of two: 1 unless squares of the inputs are beyond a float
  std::vector<float> kept;          // some of the rows, [*, k], evenly from all, where products are not gathered

  int64_t k() const { return static_cast<int64_t>(sum_abs.size()); }
  bool has_products() const { return !products.empty(); }

  // Takes rows of x [*, k] in, on all processors. Rows with a NaN or an infinity are left out.
  void add(std::span<const float> x);
  // Takes in what another reader of a weight, of the same k, has seen: the rows of both, one below the other. Both are finished.
  void add(const ColumnStatistics& other);
  // What was added since the last one was one sample.
  void end_sample();
  // Of the inputs' means, by how much they are off by chance, the sum of squares over positions: from how samples differ, or, of
  // one sample, rows.
  double mean_variance() const;
  // After the last rows: fills the lower half of the products, and takes off what so few rows make by chance: positions of k
  // that have nothing to do with each other seem to. Products of two different positions are shrunk towards 0 by the share
  // that is expected to be chance, for inputs that are distributed normally (Schäfer & Strimmer 2005, target D).
  void finish();

 private:
  void keep(std::span<const float> row);
  // Makes the unit large enough for products of such numbers.
  void raise_unit(float largest);
  void raise_unit_to(double needed);

  int64_t stride_ = 1;  // of the rows that are kept
  // Of samples that ended: their means' sum and their squares' sum; how many; the sum and rows until the last one.
  std::vector<double> means_, ended_sum_;
  double means_squared_ = 0;
  int64_t samples_ = 0, ended_rows_ = 0;
};

}  // namespace thaw::quantizing::blocks
