// What is measured one by one: a node, or nodes that go together.
#pragma once

#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Of nodes of the model by name, in the model's order. Nodes that read one weight are one unit whatever the grouping: they are
// one tensor in the file. `parts`: of joined models, by which names begin: a layer is one of its part.
std::vector<SensitivityUnit> group_units(const ir::Model& model, const std::vector<std::string>& nodes,
                                         SensitivityGroup group, const std::vector<std::string>& parts = {});

// "layers.3" of "/model/layers.3/mlp/up_proj/MatMul", "up_proj" its kind; empty where the name shows none.
struct NameParts {
  std::string layer, kind;
};
NameParts parts_of_name(const std::string& name, const std::string& op);

}  // namespace thaw::measuring
