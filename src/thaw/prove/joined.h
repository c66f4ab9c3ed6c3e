// Parts of a model that run one after the other, as the one model that they are together.
#pragma once

#include <memory>
#include <span>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

// An input that an earlier part returns under that name is what it returns; others of one name are one input. All that any part
// returns is an output. Throws thaw::Error where the parts are of different opsets, or a later one calls functions.
std::unique_ptr<ir::Model> join(std::span<const ir::Model* const> parts);

}  // namespace thaw::proving
