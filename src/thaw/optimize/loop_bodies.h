// What bodies of Loops, Scans and Ifs say.
#pragma once

#include <memory>
#include <string>

#include "thaw/infer/inference.h"
#include "thaw/ops/onnx/loop_condition.h"
#include "thaw/optimize/site.h"

namespace thaw::optimizing {

using ops::behind_identities, ops::goes_on, ops::is_true;

// The node's graph of that name; null where it has none.
std::shared_ptr<ir::Graph> graph_of(const ir::Node& node, std::string_view attribute);
// Whether a Loop goes on for all its rounds.
bool runs_all_rounds(const ir::Node& loop, const ir::Graph& body);
// The tensor of which a Loop's body takes a row a round: Gather of what stands outside by the number of the round, where there are
// as many rounds as rows. Null for another node.
ir::Value* rows_taken(const ir::Node& gather, const ir::Node& loop, const ir::Graph& body,
                      const infer::Inference& facts);

}  // namespace thaw::optimizing
