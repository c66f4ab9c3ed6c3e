// The worst of what was predicted is measured as in the exact mode, and so are those that may belong to it; what they turn out
// to be tells what the others' figures are worth.
#pragma once

#include <vector>

#include "thaw/sensitivity/baseline.h"
#include "thaw/sensitivity/candidate_maker.h"
#include "thaw/sensitivity/interleaved.h"

namespace thaw::measuring {

// Of a metric, by what errors add up: of decibels, the noise. Of a unit, the mean over its samples.
double rank_of(const ErrorFigures& figures, ErrorMetric metric);
double mean_rank(const UnitError& error, ErrorMetric metric);

// What confirming works on.
struct Confirming {
  Baseline& baseline;
  CandidateMaker& maker;
  const Wanted& wanted;  // the samples that are used
  ErrorMetric metric;
};

// Measures the worst tenth, until those that are worst have been measured; then those that may belong to it, a few at a time, by what
// the measured ones were off by: up to two standard deviations of log(measured / predicted), of a quarter of the units at most; then those
// that come next, until `at_least` were measured here or before. Gives that logarithm of each. `off`: what is known of it before; `known`:
// what is known of the first sample.
std::vector<double> confirm_worst(const Confirming& with, const std::vector<UnitError*>& errors, size_t at_least,
                                  std::vector<double> off = {}, const KnownFirst& known = {});

// Whether figures that are off by these logarithms rank the units as they are: log(predicted) is taken for log(true) with noise on it
// that has nothing to do with it, so that their correlation is sqrt(1 - noise / (signal + noise)).
// `least` is what it has to be.
bool do_rank(const std::vector<double>& off, const std::vector<UnitError*>& errors, ErrorMetric metric, double least);

}  // namespace thaw::measuring
