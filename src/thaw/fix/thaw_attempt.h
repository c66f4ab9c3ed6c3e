// One try at writing a model's frozen sizes as expressions of its inputs, all but those of some sizes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "thaw/fix/bound.h"
#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/pass.h"

namespace thaw::fixing {

struct Attempt {
  rewrite::Changes changes;
  std::vector<Bound> bound;              // sizes of which something frozen is left
  std::set<std::string> freed;           // sizes that something was rewritten for, or that an input's axis was named by
  std::set<std::string> opened;          // of them, those that were numbers in the inputs' declarations
  std::map<std::string, int64_t> sizes;  // at which the model was frozen, as far as known
  std::map<std::string, std::vector<std::string>> axes;  // of the inputs, by size: "axis 2 of 'x'"
};

// Rewrites what follows from the graph, and leaves all that holds one of the sizes of `held`. A model all of whose
// inputs are numbers has their axes named once something was rewritten, but for the held ones.
Attempt attempt_to_thaw(ir::Model& model, const std::set<std::string>& held);

}  // namespace thaw::fixing
