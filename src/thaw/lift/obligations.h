// What a node needs of sizes, as a part of the domain. Internal to lift/.
//
// A model that runs at every size that is drawn may still not run at some that a proof finds: an exporter left one of two branches, that
// for a remainder, and where there is none the other would run. What its nodes need then is the domain.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "thaw/lift/domain.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::lifting {

// What a node needs that does not hold at one size, and does in every trace and at all of `others`; nullopt where that is no expression of
// sizes. shapes: of the model's inputs, in the variables. traced: the nodes whose needs count.
std::optional<Undecided> need_at(const ir::Model& lifted,
                                 const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                                 std::span<const Variable> variables, dim::Scope& scope,
                                 const std::unordered_set<const ir::Node*>& traced,
                                 const std::vector<int64_t>& broken_at,
                                 const std::vector<std::vector<int64_t>>& others);

// What nodes need that does not hold at one of these sizes at least, of those outside of the traces' that the domain has, and does in every
// trace and at all of `others`: each once, the first nodes' first.
std::vector<Undecided> needs_outside(const ir::Model& lifted,
                                     const std::unordered_map<const ir::Value*, ops::Shape>& shapes,
                                     std::span<const Variable> variables, dim::Scope& scope,
                                     const std::unordered_set<const ir::Node*>& traced, const Domain& domain,
                                     const std::vector<std::vector<int64_t>>& others);

}  // namespace thaw::lifting
