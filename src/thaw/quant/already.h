// What a model is in already: so that a conversion that changes nothing is distinguished from one that has nothing to change.
#pragma once

#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"
#include "thaw/quant/precisions.h"

namespace thaw::quantizing {

// The nodes that compute in what they are to have: in float16 or bfloat16, or with codes of as many bits, in blocks or not, whoever
// wrote them. Of a node that has other codes, why it keeps those is added to `left`.
std::vector<Change> already_in(const ir::Model& model, const infer::Inference& facts, const Precisions& precisions,
                               std::vector<Change>& left);

}  // namespace thaw::quantizing
