// Ifs that can only go one way, replaced by the branch that runs. Internal to batch/.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thaw/ir/graph/model.h"
#include "thaw/rewrite/emitter.h"

namespace thaw::batching {

// All Ifs of a graph, those inside before the one around them.
std::vector<ir::Node*> ifs_of(const ir::Graph& graph);

// An If that samples from `inputs` reach goes one way where inference knows its condition; or where its branches return
// different ranks, and with one of them a node that always runs later could not run: a model in which
// `If(size == 1) Squeeze else Identity` is followed by an operator of fixed rank. Costs one inference a try, of which
// there are at most a few hundred.
//
// Where an If of the main graph goes by what is the same for all samples, and a node of one of its branches cannot run at the
// sizes of a sample, the other branch is taken too, and its condition is one of those returned: it must come out so.
struct TakenBranch {
  ir::Value* condition;
  bool value;
  std::string location, why;  // the If, and why the other branch cannot run
};
std::vector<TakenBranch> take_branches(ir::Model& model, std::span<ir::Value* const> inputs);

// Makes a run an error in which a condition comes out otherwise, as it is in the model: each output is reshaped to the shape that
// it has, and to a larger one then. Call it once the outputs are what they will be.
void require_conditions(ir::Model& model, std::span<const TakenBranch> taken, rewrite::Emitter& emitter);

}  // namespace thaw::batching
