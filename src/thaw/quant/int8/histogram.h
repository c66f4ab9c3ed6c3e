// How often numbers were seen, in bins, and the range that suits them: nothing else is kept of what a tensor held.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thaw/quant/int8/affine.h"

namespace thaw::quantizing::int8 {

class Histogram {
 public:
  static constexpr int kBins = 8192;

  Histogram() : counts_(kBins, 0) {}
  // Over a range that is known; what lies beyond makes it wider.
  explicit Histogram(Range range);

  // Numbers must be finite. Where one is beyond the range, the range doubles on that side, and bins go together in twos.
  void add(std::span<const float> numbers);

  const Range& range() const { return range_; }
  uint64_t total() const { return total_; }
  std::span<const uint64_t> counts() const { return counts_; }
  double width() const { return (range_.highest - range_.lowest) / kBins; }
  double middle_of(int bin) const { return range_.lowest + (bin + 0.5) * width(); }

 private:
  void widen(float number);

  Range range_;
  bool is_open_ = true;  // it has no width yet
  uint64_t total_ = 0;
  std::vector<uint64_t> counts_;
};

// From what 100 - `percentile` percent of the numbers seen lie below to what as many lie above; symmetric: of the magnitudes.
Range percentile_range(const Histogram& seen, double percentile, bool symmetric);
// The threshold on magnitudes at which the distribution of codes tells the least apart from what was seen, by Kullback-Leibler
// divergence over the levels of a magnitude (Migacz 2017, TensorRT), of those that do not make the squared error larger than it
// is without one. Of too few numbers to tell a distribution: all that was seen.
Range entropy_range(const Histogram& seen, const Codes& codes, bool symmetric);
// The limits of least squared error, what is cut off included: each side in turn is searched down to a twentieth.
Range least_error_range(const Histogram& seen, const Codes& codes, bool symmetric);

// What the squared error is per number.
double mean_squared_error(const Histogram& seen, const Affine& affine, const Codes& codes);

}  // namespace thaw::quantizing::int8
