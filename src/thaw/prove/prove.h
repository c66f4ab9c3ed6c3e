// Whether two models compute the same at every size: by proof, not by trying.
//
// Both become one graph of terms over their inputs, which are shared by name (term.h); outputs that are one term are equal.
// It is a proof in real arithmetic, of all runs in which both models run. Who checks knows nothing of who writes: the module
// uses nothing of what rewrites models (docs/proving.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/prove/aligned.h"
#include "thaw/prove/evidence.h"

namespace thaw::proving {

struct ProvenOutput {
  std::string name;
  bool is_proven = false;
  // Where the two differ, as far as the proof has come: "Softmax 'b.3' against MultiHeadAttention 'b.3'".
  std::string place;
  uint8_t assumed = 0;  // for both to be what they are: bits of Assumption
};

struct Comparison {
  std::vector<ProvenOutput> outputs;  // of the first model that the second one has too, by name
  std::vector<SizeBound> sizes;       // at which they were compared: those that were given or are needed
  size_t terms = 0;                   // that both models are made of
  size_t rounded = 0;                 // constants that were taken for others, which they equal but for rounding
  double most_steps = 0;              // by how many steps of their type the farthest
  uint8_t assumed = 0;                // for what is proven: bits of Assumption
};

// At the sizes that both models declare, and that are within the bounds. `evidence`, where it is not null, gets the steps of what is
// proven but for `others`; an output that it does not have is one whose steps are not found within the budget. Throws thaw::Error where no inputs
// fit both models, or the budget of one is out.
Comparison compare(const ir::Model& model, const ir::Model& reference, std::span<const SizeBound> bounds = {},
                   Evidence* evidence = nullptr, std::span<const std::string> others = {});

}  // namespace thaw::proving
