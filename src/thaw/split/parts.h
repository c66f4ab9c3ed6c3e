// The parts of a model as models of their own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/model.h"
#include "thaw/split/stages.h"

namespace thaw::splitting {

struct Part {
  std::unique_ptr<ir::Model> model;
  std::vector<std::string> outputs;  // that later parts read, or the whole model has
};

// One part a stage. What comes from an earlier part has the size that it had there: by its name, as an expression where
// the part's other inputs have what it is made of, else by a name of its own. Sizes that are computed are computed anew
// where the part's inputs tell, and come from an earlier part where they do not; such are added to `carried`, and so is
// what passes beside the cuts.
std::vector<Part> make_parts(const ir::Model& model, dim::Scope& scope, const infer::Result& facts,
                             const Passings& passings, const Stages& stages, std::span<const Cut> cuts,
                             std::vector<std::string>& carried);

}  // namespace thaw::splitting
