// Which nodes in 16 bits no execution provider has a kernel for, where models run.
#pragma once

#include <set>
#include <string>

#include "thaw/ir/graph/model.h"

namespace thaw::quantizing {

struct MissingKernels {
  bool are_all = true;            // on the CPU alone, which has few of them
  std::set<std::string> of = {};  // else nodes of the main graph, by name (rewrite::name_of)

  bool has(const ir::Node& node) const;
};

// As ONNX Runtime places the nodes of a model that was converted; all, where it does not tell or the model does not load there.
MissingKernels find_missing_kernels(const ir::Model& converted);

}  // namespace thaw::quantizing
