// `check --run`: runs the model at the sizes that a proof says break it.
#pragma once

#include <span>

#include "thaw/check/check.h"
#include "thaw/run/feeds.h"

namespace thaw::confirm {

struct Confirmation {
  size_t failed = 0;   // sizes at which ONNX Runtime failed, as the proof says
  size_t ran = 0;      // sizes at which it ran all the same
  size_t skipped = 0;  // sizes that could not be tried
};

// For each finding that names sizes that break the model: runs it there in ONNX Runtime, on drawn inputs, and adds what
// came of it to the finding's details; a finding at whose sizes it runs is a note. Input dims that --sizes gives a range are taken as free, whatever the file
// declares. The model is changed: its declared inner sizes are dropped, so that what fails is the computation.
Confirmation run_at_breaking_sizes(ir::Model& model, std::span<Finding> findings, const dim::SpecGroup& dims,
                                   const FeedOptions& feeds);

}  // namespace thaw::confirm
