// How far an array is from what it was, in the figures that conversions are judged by.
#pragma once

#include <cstdint>

#include "thaw/convert.h"
#include "thaw/run/array.h"

namespace thaw::confirm {

struct MeasuredError {
  OutputComparison error;        // without names
  double signal = 0, noise = 0;  // sums of squares, of what sqnr is the ratio of
  uint64_t compared = 0;         // elements
};

// 10 log10(signal / noise), in dB: infinite where there is no noise, -300 at least.
double to_decibels(double signal, double noise);

// Of two arrays of numbers of one shape, of any types.
MeasuredError measure_error(const Array& wanted, const Array& got);

}  // namespace thaw::confirm
