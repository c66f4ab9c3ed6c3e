// What an exporter noted at a node (metadata_props), which Thaw keeps as bytes.
#pragma once

#include <string_view>

#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

// The entry of that key, as long as the node lives; empty where there is none.
std::string_view metadata_of(const Node& node, std::string_view key);

}  // namespace thaw::ir
