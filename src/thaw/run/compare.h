// Comparing what a model gives with what a reference gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thaw/run/array.h"

namespace thaw::run {

// When two outputs agree. Floats: |actual - expected| <= absolute + relative * |expected| for every element, and a
// cosine of at least `cosine` where that is set. Unset bounds depend on the coarser of the two types: 1e-4 and 1e-3 for
// float32 and float64, 1e-2 and 1e-2 for 16-bit floats, 0.1 and 0.1 below; where only `cosine` is set it alone decides.
// Integers, booleans and strings must be equal.
struct Tolerance {
  std::optional<double> absolute, relative, cosine;
};

struct Comparison {
  bool passed = false;
  std::string reason;       // why not: "3 of 12 elements differ by more than …"
  bool comparable = false;  // shapes and types allow comparing elements; the figures below mean nothing else
  int64_t elements = 0;
  int64_t outside = 0;         // elements outside the tolerance; a NaN or infinity that the other lacks counts
  double max_abs = 0;          // largest |actual - expected| over the elements where both are finite
  double max_rel = 0;          // largest |actual - expected| / |expected| over those of them where expected is not 0
  double cosine = 1;           // of the two as vectors of their finite elements; 1 where both are 0, 0 where one is
  int64_t not_finite = 0;      // elements where one is NaN or infinite and the other is not the same
  std::vector<int64_t> worst;  // index of the element that is farthest outside; empty where all are equal
  double worst_actual = 0, worst_expected = 0;
};

// `any_type` compares numbers of different types; else a differing type is a failure.
Comparison compare(const Array& actual, const Array& expected, const Tolerance& tolerance, bool any_type = false);

}  // namespace thaw::run
