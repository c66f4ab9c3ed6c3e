// A plan as quantizers of other tools are told it: which nodes of which model have which precision, by name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/sensitivity.h"

namespace thaw::measuring {

// Of one precision, in the model's order.
struct PlanGroup {
  PrecisionOptions precision;
  std::vector<const ir::Node*> nodes;
};

struct PlanNodes {
  std::unique_ptr<ir::Model> model;  // that the names are of: optimized where the report says so
  // float16 first, blocks last: a step leaves what it converted to the next as nodes of other names or types, and blocks hide the types
  // of tensors from ONNX's shape inference, which INT8 needs.
  std::vector<PlanGroup> groups;
};

// Throws thaw::Error (kInvalidArgument) for a model that is not the report's, and where a name is that of no node, or of several.
PlanNodes plan_nodes(const ir::Model& model, const SensitivityReport& report, const MixedPlan& plan);

// Types of operators; none: all.
using Operators = std::span<const std::string_view>;
bool is_in(Operators operators, const ir::Node& node);

// Names of the nodes of these operators that are not in the group, those of graphs inside too. Throws thaw::Error (kInvalidArgument) where
// one has no name: it could not be left out.
std::vector<std::string> names_outside(const PlanNodes& nodes, const PlanGroup& group, Operators operators = {});

}  // namespace thaw::measuring
