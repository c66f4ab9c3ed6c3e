// A model for one sample as a batch of one.
#pragma once

#include <memory>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

// `original` with the inputs and outputs of `batched`: where those have one axis more, it is 1 and stands in front. Others are as they are.
std::unique_ptr<ir::Model> as_batch_of_one(const ir::Model& original, const ir::Model& batched);

}  // namespace thaw::proving
