// What a user calls a tensor: by its own name, or by the name of the node that makes it.
#pragma once

#include <string>
#include <string_view>

#include "thaw/ir/graph/model.h"

namespace thaw::splitting {

// A tensor of the main graph, or the only output of the node of this name. Throws thaw::Error where there is neither, with the nearest
// name, and where the node has several outputs, naming them; `next` says where tensors are found.
const ir::Value* named_tensor(const ir::Model& model, const std::string& name, std::string_view next);

}  // namespace thaw::splitting
