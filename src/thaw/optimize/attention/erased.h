// Masks that scores are multiplied by: scores * kept - 1e4 * (1 - kept), where kept is 1 or 0 (Radford et al., GPT-2).
#pragma once

#include <optional>

#include "thaw/infer/inference.h"

namespace thaw::optimizing {

// What stands where `kept` is 0, of a sum that is nothing where it is 1: -1e4 of -1e4 * (1 - kept). nullopt for another sum.
std::optional<double> where_erased(const ir::Value* sum, const ir::Value* kept, const infer::Inference& facts);

// Whether all elements are known to be 1 or 0.
bool is_ones_and_zeros(const ir::Value* value, const infer::Inference& facts);

}  // namespace thaw::optimizing
