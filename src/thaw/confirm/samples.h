// Running a batched model beside the model that it was made of, sample by sample, before it is written.
//
// Three samples are drawn, each other numbers; two where a sample takes seconds. The model runs on each, the batched
// model on all at once, and sample i of the result must be the model's result on sample i. Free sizes are small,
// distinct and other in each round; those that the model does not run at say nothing and are passed over, and so, as
// long as there are others to try, are those at which outputs have no elements.
#pragma once

#include <string>
#include <vector>

#include "thaw/batch/batch.h"
#include "thaw/confirm/run_check.h"
#include "thaw/run/feeds.h"

namespace thaw::confirm {

constexpr int kCheckedSamples = 3;

struct BatchCheck {
  std::vector<RunCheck> runs;         // by sizes; empty: not checked
  std::string reason;                 // what was not compared, and why; empty: everything was
  int64_t samples = kCheckedSamples;  // that were drawn
};

// `original` is the model that `batched` was made of with these options; `feeds` says what inputs are given rather than
// drawn, the same in every sample. Throws thaw::Error where they name what is no input.
BatchCheck compare_with_samples(const ir::Model& batched, const ir::Model& original, const BatchOptions& options,
                                const FeedOptions& feeds);

}  // namespace thaw::confirm
