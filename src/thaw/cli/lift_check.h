// Running a lifted model beside the traces that it was made of, each at its own size.
#pragma once

#include <string>
#include <vector>

#include "thaw/lift/traces.h"

namespace thaw::cli {

struct TraceCheck {
  std::string trace;
  double max_abs = 0;  // of all outputs
  bool agrees = false;
};

// Inputs are drawn: floats from a normal distribution, integers that were not given as values from 0 and 1. An output
// agrees within 1e-3 of its largest element.
std::vector<TraceCheck> compare_with_traces(const ir::Model& lifted, const std::vector<std::string>& paths,
                                            const std::vector<lift::Trace>& traces);

}  // namespace thaw::cli
