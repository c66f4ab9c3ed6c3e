// Two models, made ready to be compared: copies in which calls of functions are their bodies, shared inputs are declared
// alike, and no two values have one name.
//
// Where one model declares a size as a number, or as equal to another one, both do: what is proven holds at the sizes that
// both declare.
#pragma once

#include <array>
#include <memory>

#include "thaw/ir/graph/model.h"

namespace thaw::proving {

struct Aligned {
  std::array<std::unique_ptr<ir::Model>, 2> models;
};

// Throws thaw::Error where there is no size that both models take.
Aligned align(const ir::Model& first, const ir::Model& second);

}  // namespace thaw::proving
