// Models whose inputs are sequences, as models that arrays can be fed to.
#pragma once

#include <memory>

#include "thaw/ir/graph/model.h"

namespace thaw::confirm {

// Whether an input is a sequence of tensors, of which no array can be one.
bool takes_sequences(const ir::Model& model);

// A copy whose inputs are three items of each such sequence, of the sizes that the sequence declares of its items:
// "boxes/0", "boxes/1" and "boxes/2" of "boxes". What reads a sequence reads those, put together.
std::unique_ptr<ir::Model> fed_by_items(const ir::Model& model);

}  // namespace thaw::confirm
