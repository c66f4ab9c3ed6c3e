// The parts of a model, one after the other, beside the model.
#pragma once

#include <span>

#include "thaw/confirm/against_reference.h"
#include "thaw/ir/graph/model.h"

namespace thaw::confirm {

// Runs them at three sizes where there are free ones. All models return the same in every run.
AgainstReference compare_parts(std::span<const ir::Model* const> parts, const ir::Model& whole,
                               const FeedOptions& feeds);

}  // namespace thaw::confirm
