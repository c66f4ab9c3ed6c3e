// What is asked of the room: which nodes, how, and what the model is fed.
#pragma once

#include <functional>

#include "thaw/convert.h"
#include "thaw/ir/graph/graph.h"

namespace thaw::quantizing::int8 {

// How a node is to be converted; null: it stays as it is.
using Wanted = std::function<const Int8Options*(const ir::Node&)>;

}  // namespace thaw::quantizing::int8
