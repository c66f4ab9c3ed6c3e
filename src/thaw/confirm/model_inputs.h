// The inputs of a model as the verbs that run one need them: types, sizes by the names that `thaw inspect` prints, and
// what the model demands of the sizes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/infer/integer_ranges.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/feeds.h"
#include "thaw/run/size_conditions.h"

namespace thaw::confirm {

struct ModelInputs {
  std::vector<run::InputSpec> inputs;          // in the model's order, with dims as expressions of the scope
  std::vector<run::SizeCondition> conditions;  // what the nodes of the main graph need of them
  std::set<std::string> empty_outputs;         // that have no elements at any size
  infer::Result facts;                         // of the whole model
};

// With what operators ask of integers (indices of a table, axes, sizes), the numbers that a setting is compared with, and which inputs have a
// default (an initializer of the same name).
ModelInputs look_at_inputs(const ir::Model& model, dim::Scope& scope);

// What is drawn for the input stays within the range.
void limit_to(const infer::IntegerRange& range, run::InputSpec& input);

// The inputs alone.
std::vector<run::InputSpec> model_inputs(const ir::Model& model, dim::Scope& scope);

}  // namespace thaw::confirm
