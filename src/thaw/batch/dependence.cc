#include "thaw/batch/dependence.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"

namespace thaw::batching {

// An operand of which nothing but the shape, the length or the type is read tells nothing of the samples.
bool Dependence::reads(const ir::Node& node) const {
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    const ir::Value* value = node.input(i);
    if (value && contains(value) && !ops::is_unread(ops::role_of(node, i))) return true;
  }
  return false;
}

bool Dependence::reads(const ir::Graph& graph) const {
  const auto& outputs = graph.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const ir::Value* value) { return contains(value); });
}

void Dependence::follow(const ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) follow(*node);
}

void Dependence::follow(const ir::Node& node) {
  if (!budget_->spend(1)) budget_->require("batch");
  const auto outputs = node.outputs();
  const std::vector<ir::Graph*> graphs = node.subgraphs();
  const bool goes_around = (node.op_type() == "Loop" || node.op_type() == "Scan") && node.domain().empty();
  if (goes_around && graphs.size() == 1) return follow_loop(node, *graphs.front());
  // Each graph once: what stands in it may hold graphs itself.
  const bool reads_samples = reads(node);
  for (const ir::Graph* graph : graphs) {
    if (reads_samples)
      for (const ir::Value* formal : graph->inputs()) add(formal);
    follow(*graph);
  }
  if (reads_samples) {
    for (const ir::Value* output : outputs) add(output);
    return;
  }
  for (const ir::Graph* graph : graphs) {
    if (node.op_type() != "If" && reads(*graph)) {
      for (const ir::Value* output : outputs) add(output);
    }
    for (size_t i = 0; i < outputs.size() && i < graph->outputs().size(); ++i)
      if (contains(graph->outputs()[i])) add(outputs[i]);
  }
}

void Dependence::follow_loop(const ir::Node& node, const ir::Graph& body) {
  const bool is_loop = node.op_type() == "Loop";
  const size_t first = is_loop ? 2 : 0;  // inputs before the values that go around; a Loop's body returns one more
  const size_t skipped = is_loop ? 1 : 0;
  const size_t inputs = node.inputs().size();
  const size_t scanned = is_loop ? 0 : static_cast<size_t>(node.attribute_int("num_scan_inputs", 0));
  const size_t carried = inputs > first + scanned ? inputs - first - scanned : 0;
  for (size_t i = first; i < inputs && i < body.inputs().size(); ++i)
    if (contains(node.inputs()[i])) add(body.inputs()[i]);
  // Where samples leave at iterations of their own, all that goes around differs.
  const auto decides = [&] {
    return is_loop && ((inputs > 0 && contains(node.inputs()[0])) || (inputs > 1 && contains(node.inputs()[1])) ||
                       contains(body.outputs()[0]));
  };
  for (bool more = true; more;) {
    more = false;
    follow(body);
    for (size_t i = 0; decides() && i < carried && first + i < body.inputs().size(); ++i) {
      more |= !contains(body.inputs()[first + i]);
      add(body.inputs()[first + i]);
    }
    for (size_t i = 0; i < carried && skipped + i < body.outputs().size() && first + i < body.inputs().size(); ++i) {
      if (!contains(body.outputs()[skipped + i]) || contains(body.inputs()[first + i])) continue;
      add(body.inputs()[first + i]);
      more = true;
    }
  }
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const bool goes_around = i < carried && contains(body.inputs()[first + i]);
    const bool returned = skipped + i < body.outputs().size() && contains(body.outputs()[skipped + i]);
    if (goes_around || returned) add(node.outputs()[i]);
  }
}

}  // namespace thaw::batching
