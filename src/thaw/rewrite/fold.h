// Folding: nodes that read nothing but constants become the constants that they compute.
//
// Small integers are computed by the operators' own value rules, all else by ONNX Runtime, in one run. What a shape tells
// is no constant, even where the shape is known: a size written down would be frozen. Random numbers, and what holds
// graphs, are left.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "thaw/rewrite/pass.h"

namespace thaw::rewrite {

struct FoldOptions {
  // Bytes that the file may grow by: what is folded, less the constants that nothing else reads.
  uint64_t most_growth = 0;
  // Constants that stay what they are, and so does what is computed from them.
  std::unordered_set<const ir::Value*> keep = {};
};

// Folds what the budget allows, those first that make the file smaller. What ONNX Runtime does not run stays. Returns how
// many values became constants; the facts are brought up to date.
int fold_constants(PassContext& context, const FoldOptions& options);

}  // namespace thaw::rewrite
