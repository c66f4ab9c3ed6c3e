// The sizes that a proof is for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/aligned.h"
#include "thaw/verify.h"

namespace thaw::verbs {

// Of the sizes that options give, the least range each that has them all. Expressions and relations are for the runs alone: without
// them a proof is for more sizes. Throws thaw::Error for a name that the model does not have.
std::vector<proving::SizeBound> bounds_of(const VerifyOptions& options, const ir::Model& model);

// By the names of the model: "height=32..640:32".
std::vector<std::string> texts_of(std::span<const proving::SizeBound> bounds, const ir::Model& model);

}  // namespace thaw::verbs
