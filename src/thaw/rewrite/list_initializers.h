// What files of IR versions before 4 ask for: every initializer stands among the inputs too.
#pragma once

#include <unordered_set>

#include "thaw/ir/graph/model.h"

namespace thaw::rewrite {

// The initializers of the main graph that are not among `known` become inputs, where the model's IR version asks for it.
void list_initializers(ir::Model& model, const std::unordered_set<const ir::Value*>& known);

}  // namespace thaw::rewrite
