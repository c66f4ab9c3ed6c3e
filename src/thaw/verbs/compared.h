// A mended model beside its original, of models that draw random numbers or take sequences too.
#pragma once

#include "thaw/confirm/fixed.h"
#include "thaw/ir/graph/model.h"

namespace thaw::verbs {

// confirm/fixed.h of both as they can be compared: random numbers are the same on both sides, items stand for sequences. What was
// so compared was not run as it is written.
confirm::FixCheck compare_with_original(const ir::Model& result, const ir::Model& original, bool rewritten,
                                        const FeedOptions& feeds, const confirm::Closeness& closeness = {});

}  // namespace thaw::verbs
