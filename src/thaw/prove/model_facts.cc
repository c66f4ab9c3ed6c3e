#include "thaw/prove/model_facts.h"

#include "thaw/dim/expr/expr.h"

namespace thaw::proving {

ModelFacts::ModelFacts(const ir::Model& model, dim::Scope& scope)
    : model_(model), scope_(scope), inference_(model, scope, infer::UnknownSizes::kNamedInBranches) {
  for (const ir::Value* input : model.graph->inputs())
    if (!input->fixed_constant()) note(input);
  note_graph(*model.graph);
}

void ModelFacts::note_graph(const ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Value* output : node->outputs())
      if (output) note(output);
    for (const ir::Graph* inner : node->subgraphs()) note_graph(*inner);
  }
}

void ModelFacts::note(const ir::Value* value) {
  const ops::Fact& fact = inference_.fact(value);
  bool is_new = !fact.shape;
  if (fact.shape)
    for (const dim::Dim d : *fact.shape) {
      if (d.is_unknown()) is_new = true;
      if (!d.is_symbolic()) continue;
      for (const int symbol : dim::symbols_of(d)) {
        const auto at = static_cast<size_t>(symbol);
        if (is_met_.size() <= at) is_met_.resize(at + 1, false);
        if (is_met_[at] || !dim::is_data_dependent(scope_.symbol_at(symbol))) continue;
        is_met_[at] = true;
        is_new = true;
      }
    }
  if (is_new) new_sizes_.insert(value);
}

}  // namespace thaw::proving
