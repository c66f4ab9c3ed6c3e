// Sizes at which a lifted model contradicts itself. Internal to lift/.
//
// Every constant is solved for itself, and few traces leave room for chance: an expression that is right in each may be
// wrong elsewhere. The nodes know better: inference runs over the model at sizes that no trace has, all of them plain
// numbers (the elements of a Reshape, broadcasts, the operands of a Concat must agree). They lie between the smallest
// and the largest of the traces', and are multiples of what all of theirs are multiples of.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

struct Contradictions {
  size_t sizes = 0;            // at which the nodes that were lifted into it can be computed
  size_t unmade = 0;           // those at which they cannot: past the end of a lookup table, or what was found is wrong
  size_t broken = 0;           // of these
  size_t num_sound_nodes = 0;  // of the trace, before the first that breaks, summed over the sizes: the more the better
  std::string first;           // "Reshape 'x': 40 elements …, at height = 14, width = 22"
  std::string first_unmade;
  const ir::Node* first_node = nullptr;  // of first
};

// traced: the nodes of the trace that are left. At the sizes that break another one they are not judged.
Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables,
                                   const std::unordered_set<const ir::Node*>& traced);
// The same at these sizes (unseen_sizes.h).
Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables,
                                   const std::unordered_set<const ir::Node*>& traced,
                                   const std::vector<std::vector<int64_t>>& at);

// Whether no node, of the trace or another, contradicts itself at any of these sizes.
bool runs_at(const ir::Model& lifted, std::span<const Variable> variables,
             const std::vector<std::vector<int64_t>>& sizes);

}  // namespace thaw::lifting
