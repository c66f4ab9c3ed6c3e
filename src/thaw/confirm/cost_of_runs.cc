#include "thaw/confirm/cost_of_runs.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "thaw/infer/cost.h"
#include "thaw/infer/rounds.h"

namespace thaw::confirm {
namespace {

void add_nodes(run::RunCost& cost, const ir::Model& model, const infer::Result& facts) {
  infer::for_runs(*model.graph, model, facts, [&](const ir::Node& node, dim::Dim times) {
    std::vector<run::RunCost::Tensor> tensors;
    const auto add = [&](const ir::Value* value) {
      if (value == nullptr || value->constant() != nullptr) return;
      const ops::Fact& fact = facts.fact(value);
      if (!fact.shape) return;
      tensors.push_back(
          cost.add_tensor(std::max<uint64_t>(1, static_cast<uint64_t>(ir::bits_of(fact.dtype)) / 8), *fact.shape));
    };
    std::ranges::for_each(node.inputs(), add);
    std::ranges::for_each(node.outputs(), add);
    // What is run nobody knows how often is run once at least.
    const infer::Cost each = infer::cost_of(node, model, facts);
    cost.add_node(tensors, (times.is_known() ? each * times : each).flops);
  });
}

}  // namespace

run::RunCost cost_of_runs(const ir::Model& model, const infer::Result& facts) {
  run::RunCost cost;
  add_nodes(cost, model, facts);
  return cost;
}

void add_origin(run::RunCost& cost, const ir::Model& origin, const ir::Model& model, dim::Scope& scope) {
  const std::unique_ptr<ir::Model> same_inputs = ir::clone(origin);
  for (ir::Value* input : same_inputs->graph->inputs())
    if (const ir::Value* own = model.graph->find(input->name()); own != nullptr && own->is_input())
      input->set_type(own->type);
  add_nodes(cost, *same_inputs, infer::infer(*same_inputs, scope));
}

}  // namespace thaw::confirm
