// Simplifications: what one node, or a node and what it reads, becomes. One walk tries all of them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "thaw/optimize/context.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {

struct Simplification {
  std::string_view name;                    // what it does, in two or three words
  std::vector<std::string_view> operators;  // of ai.onnx, whose nodes it looks at
  // The value that takes the place of the node's only read output; null where there is none. It may write nodes
  // (Site::at); where it returns null, or throws ops::CannotWrite, they go again.
  ir::Value* (*rewrite)(const Site&);
};

// Tries them at every node once, subgraphs included, those of an operator in their order; the facts are brought up to
// date at the end, so that what was written is looked at by the next walk. The cost is linear in nodes. Returns how many
// were applied.
int simplify(Context& context, std::span<const Simplification> table);

// A table of simplifications as a pass. The table must outlive it.
inline auto simplifying(std::span<const Simplification> table) {
  return [table](Context& context) { return simplify(context, table); };
}

}  // namespace thaw::optimizing
