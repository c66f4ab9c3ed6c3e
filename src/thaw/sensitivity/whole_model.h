// A model that runs as one, as a user runs it: what all that is cut into sections is held against.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/run/session.h"
#include "thaw/sensitivity/cached_arrays.h"

namespace thaw::measuring {

class WholeModel {
 public:
  // `outputs`: that are wanted.
  WholeModel(const ir::Model& model, const std::vector<std::string>& outputs, const SessionOptions& options);

  // On a sample whose inputs are among what was kept. From several threads.
  Arrays run(const CachedArrays& kept, size_t sample);
  Arrays run(const Arrays& feeds);

 private:
  run::Session session_;
};

}  // namespace thaw::measuring
