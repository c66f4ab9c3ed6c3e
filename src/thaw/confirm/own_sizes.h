// The sizes that a model was made for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "thaw/dim/expr/scope.h"
#include "thaw/finding.h"
#include "thaw/ir/graph/model.h"
#include "thaw/run/feeds.h"

namespace thaw::confirm {

// By name, as far as they are known: what the model declares where `inputs`, in the symbols of `scope`, have a size that is
// free, and what constants inside it were frozen at.
std::map<std::string, int64_t> own_sizes(const ir::Model& model, std::span<const run::InputSpec> inputs,
                                         const dim::Scope& scope);

// Those of them that sizes of the inputs are: what the data decide is not chosen.
NamedSizes own_input_sizes(const ir::Model& model, std::span<const run::InputSpec> inputs, const dim::Scope& scope);

}  // namespace thaw::confirm
