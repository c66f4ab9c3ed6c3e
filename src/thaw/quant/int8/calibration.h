// What tensors hold over samples, measured inside the runtime: what leaves it are a few numbers a tensor, or, for histograms,
// as many tensors at once as a limit of memory allows.
#pragma once

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/quant/int8/affine.h"
#include "thaw/quant/int8/histogram.h"
#include "thaw/quant/samples/inner_values.h"
#include "thaw/quant/samples/samples.h"

namespace thaw::quantizing::int8 {

// How the range of one tensor is chosen.
struct RangeRequest {
  RangeMethod method = RangeMethod::kMinMax;
  double percentile = 99.999;
  Codes codes;
  bool symmetric = false;
  // What of the numbers counts (to_qdq.cc): those beyond are taken for the nearest that does.
  Range useful = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

// Of float32 tensors of graphs that can be measured (inner_values.h). Tensors that had no elements on any sample have the range
// 0 to 0. Where a tensor is made anew in every round of a Loop or Scan, its range is all that was seen, whatever was asked for: rounds
// have no histogram. Throws thaw::Error (kInvalidArgument) naming a tensor that holds a NaN or an infinity on a sample, and
// where the model does not run on one.
std::map<ValueLocation, Range> measured_ranges(const ir::Model& model,
                                               const std::map<ValueLocation, RangeRequest>& wanted,
                                               const Samples& samples);

// Those of the graphs that can be measured and run on any of the samples: no more samples are read than tell.
std::set<const ir::Graph*> graphs_that_run(const ir::Model& model, const std::set<const ir::Graph*>& graphs,
                                           const Samples& samples);

// Of each position along an axis: all other axes are reduced.
struct PositionStatistics {
  std::vector<double> largest;  // magnitude
  std::vector<double> mean;
};
struct PositionsRequest {
  int axis = -1;  // from the back where negative
  int rank = 0;
};
std::map<std::string, PositionStatistics> measured_positions(const ir::Model& model,
                                                             const std::map<std::string, PositionsRequest>& wanted,
                                                             const Samples& samples);

}  // namespace thaw::quantizing::int8
