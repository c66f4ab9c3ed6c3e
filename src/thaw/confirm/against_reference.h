// What was made of a model beside the model, at several sizes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run.h"

namespace thaw::confirm {

struct AgainstReference {
  std::vector<RunCheck> checks;           // by sizes; empty: nothing could be compared
  std::vector<std::string> not_compared;  // and why
  bool has_timed_out = false;             // the model itself, which then is run no more
};

using Runner = std::function<Arrays(const Arrays& feeds)>;
// Adds to the check what it finds of what was made of the model, run on the same feeds. What it throws fails the check.
using Judge = std::function<void(const Arrays& feeds, const Arrays& wanted, RunCheck& check)>;

// How one side runs with what options.
using Side = std::function<Runner(const SessionOptions& options)>;

// Draws what `drawn` takes, at `points` sizes that `wanted` runs at, or at its own where none is free, and holds what
// `got` computes of the same against what `wanted` computes: all of its outputs, by name. Small grids come before what is drawn,
// and what else it may take after (likely_feeds.h).
AgainstReference run_against_reference(const ir::Model& drawn, const FeedOptions& feeds, int points, const Side& wanted,
                                       const Side& got);
// The same, held against each other in another way.
AgainstReference judge_against_reference(const ir::Model& drawn, const FeedOptions& feeds, int points,
                                         const Runner& wanted, const Judge& judge);

}  // namespace thaw::confirm
