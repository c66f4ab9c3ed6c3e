// How large the integers fed to a model may be: an input that selects rows of a table must stay within it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "thaw/infer/infer.h"

namespace thaw::infer {

// For each integer input that reaches, through nodes that only move or convert elements, the indices of a table of known
// size (Gather's rows, OneHot's classes): how many rows the smallest such table has. Valid values are then 0 to
// bound - 1. Inputs without such a use are not in the map. facts: of the same model.
std::map<std::string, int64_t> index_bounds(const ir::Model& model, const Result& facts);

}  // namespace thaw::infer
