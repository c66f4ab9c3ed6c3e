// `thaw fix`: the rewrites that are safe without a reference.
//
//   thaw frozen sizes   a Reshape target, Slice end or Resize size that only the example's size satisfies becomes the
//                       expression that the nodes around it demand                                      (thaw_sizes.h)
//   shorten chains      Shape -> Gather -> Unsqueeze -> Concat -> Reshape becomes a Reshape by 0 and -1
//   (shorten_reshape.h) declare truly       value_info, inputs and outputs say what follows from the graph, one name a
//   size (declare.h)
//
// Each says what it changed and what it left, and why. Declared names that are true stay.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::pass {

struct FixOptions {
  bool sizes = true;         // rewrite frozen sizes
  bool chains = true;        // shorten shape chains
  bool declarations = true;  // mend declared names and shapes
};

struct FixNote {
  std::string code;     // the rule that it answers: "THAW003"
  std::string where;    // node or tensor
  std::string message;  // one clause: "'?' becomes 'floor(height/8)'"
};

struct FixReport {
  std::vector<FixNote> changed;
  std::vector<FixNote> left;  // what a rule finds and no rewrite answers
  bool modified() const { return !changed.empty(); }
};

// Changes the model in place. A model that needs nothing is left as it is, byte for byte.
FixReport fix(ir::Model& model, const FixOptions& options = {});

}  // namespace thaw::pass
