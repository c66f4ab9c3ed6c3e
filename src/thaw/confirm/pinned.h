// A pinned model beside the model that it was made of, at its sizes.
#pragma once

#include "thaw/confirm/against_reference.h"
#include "thaw/ir/graph/model.h"

namespace thaw::confirm {

// `given`: inputs of the original that became constants. Both models return the same in every run.
AgainstReference compare_pinned(const ir::Model& pinned, const ir::Model& original, const Arrays& given,
                                const FeedOptions& feeds);

}  // namespace thaw::confirm
