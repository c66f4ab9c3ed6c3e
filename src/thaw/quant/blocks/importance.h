// How much errors of weights count, by the inputs that meet them.
//
// What a column of weights is off by e makes an output be off by  sum of x_i e_i. Over inputs that vary about their means,
// each by itself, the mean of its square is  sum of var(x_i) e_i^2 + (sum of mean(x_i) e_i)^2.
#pragma once

#include <cstdint>
#include <vector>

#include "thaw/quant/blocks/statistics.h"

namespace thaw::quantizing::blocks {

// In units of the inputs' mean square.
struct Importance {
  std::vector<float> squares;  // [k], of the square of an error at each position, above 0; empty: nothing is known
  std::vector<float> means;    // [k], of an error at each position in the sum whose square counts

  bool empty() const { return squares.empty(); }
};

// No position is left out: samples do not show everything. Means are shrunk towards 0 by the share of them that the samples make
// by chance (James & Stein 1961). Empty where nothing was seen, or zeros alone. row_scales, [k]: what weights are multiplied
// by, and inputs divided; empty: nothing.
Importance importance_of(const ColumnStatistics& statistics, const std::vector<float>& row_scales = {});

// Of inputs of one sign, of which nothing else is known: as of a normal distribution behind a Relu, the square of whose mean is
// 1/pi of the mean square.
Importance importance_of_one_sided(int64_t k);

}  // namespace thaw::quantizing::blocks
