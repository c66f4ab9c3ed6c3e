#include "thaw/ops/onnx/runs_graphs.h"

namespace thaw::ops {

RunsGraphs runs_graphs(const ir::Node& node) {
  if (!node.domain().empty()) return {};
  if (node.op_type() == "If") return {.how = GraphRuns::kBranch};
  if (node.op_type() == "Loop") return {.how = GraphRuns::kRounds, .kept = 1};
  if (node.op_type() == "Scan") return {.how = GraphRuns::kRounds};
  return {};
}

}  // namespace thaw::ops
