// `thaw split --outputs`: a model that ends earlier.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"

namespace thaw::splitting {

struct CutOff {
  std::unique_ptr<ir::Model> model;      // whose outputs are the tensors; what these do not need is gone
  std::unique_ptr<ir::Model> reference;  // the whole model with these outputs, to check the other against
  std::vector<std::string> outputs;
};

// `names`: tensors of the main graph that nodes make, or nodes of one output. Throws thaw::Error for others, and for what is no tensor.
CutOff cut_off(const ir::Model& model, std::span<const std::string> names);

}  // namespace thaw::splitting
