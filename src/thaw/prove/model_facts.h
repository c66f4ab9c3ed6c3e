// What inference knows of a model that is compared: the same for every reading of it.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "thaw/infer/inference.h"
#include "thaw/ir/graph/model.h"

namespace thaw::proving {

// Terms and atoms of a size: one that is unknown tells nothing of what it is the size of.
inline constexpr int kMostOfSize = 256;

class ModelFacts {
 public:
  // Both must outlive it. Sizes that only a run tells have names of their own.
  ModelFacts(const ir::Model& model, dim::Scope& scope);

  const ir::Model& model() const { return model_; }
  const ops::Fact& fact(const ir::Value* value) const { return inference_.fact(value); }
  // What must hold of sizes for the model to run, as far as it does not anyway.
  std::span<const ops::Obligation> obligations() const { return inference_.result().obligations(); }
  // Whether a size of it is known by no other name than this value's own.
  bool has_new_size(const ir::Value* value) const { return new_sizes_.contains(value); }

 private:
  void note_graph(const ir::Graph& graph);
  void note(const ir::Value* value);

  const ir::Model& model_;
  const dim::Scope& scope_;
  infer::Inference inference_;
  std::unordered_set<const ir::Value*> new_sizes_;
  std::vector<bool> is_met_;  // symbols by number
};

}  // namespace thaw::proving
