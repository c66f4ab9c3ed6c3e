// Positions of outputs that are padding: what a model gives there says nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/run/array.h"

namespace thaw::run {

// Of a mask [batch, length] of ones and zeros: where it is not 0.
class Padding {
 public:
  // Throws thaw::Error for an array of another rank or of strings.
  explicit Padding(const Array& mask);

  // Whether an array begins with these two axes.
  bool covers(const Array& array) const;
  // Its rows that are no padding: [kept, …] of [batch, length, …].
  Array without(const Array& array) const;
  // An index into that, as one into the array.
  std::vector<int64_t> index_of(std::vector<int64_t> index) const;

 private:
  int64_t batch_, length_;
  std::vector<int64_t> kept_;  // batch * length + position
};

}  // namespace thaw::run
