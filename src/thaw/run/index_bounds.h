// How large the integers fed to a model may be: an input that selects rows of a table must stay within it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "thaw/ir/graph/graph.h"

namespace thaw::run {

// For each integer input that reaches, through nodes that only move or convert elements, the indices of a Gather,
// GatherBlockQuantized, Embedding or OneHot whose table is of known size: how many rows the smallest such table has.
// Valid values are then 0 to bound - 1. Inputs without such a use are not in the map.
std::map<std::string, int64_t> index_bounds(const ir::Graph& graph);

}  // namespace thaw::run
