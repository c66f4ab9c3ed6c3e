// A model's bytes without those of some of its weights, which reach who reads it in another way.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::ir {

// As serialize(), but `apart` are written as external data of files that are nowhere: location_apart() of their positions.
std::string location_apart(size_t position);
std::string serialize_without(const Model& model, std::span<const Tensor* const> apart);

}  // namespace thaw::ir
