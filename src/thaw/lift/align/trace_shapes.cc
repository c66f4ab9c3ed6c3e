#include "thaw/lift/align/trace_shapes.h"

#include "thaw/dim/text/text.h"

namespace thaw::lifting {

TraceShapes::TraceShapes(const std::vector<Trace>& traces, std::span<const Variable> variables,
                         const Alignment& alignment)
    : alignment_(alignment) {
  for (size_t i = 0; i < alignment.nodes[0].size(); ++i) positions_.emplace(alignment.nodes[0][i], i);
  for (size_t k = 0; k < traces.size(); ++k) {
    auto inferred = std::make_unique<Inferred>();
    inferred->facts = infer::infer(*traces[k].model, inferred->scope);
    for (const Variable& v : variables) {
      if (const auto symbol = inferred->scope.find(dim::to_string(v.symbol)))
        inferred->at[inferred->scope.symbol_id(*symbol)] = v.at[k];
    }
    traces_.push_back(std::move(inferred));
  }
}

std::optional<TraceShapes::Operand> TraceShapes::operand(const ir::Node* node, int input) const {
  Operand operand;
  const auto position = positions_.find(node);
  if (position == positions_.end()) return std::nullopt;
  for (size_t k = 0; k < traces_.size(); ++k) {
    const ops::Fact& fact = traces_[k]->facts.fact(alignment_.nodes[k][position->second]->input(input));
    if (!fact.shape) return std::nullopt;
    std::vector<std::optional<int64_t>> dims;
    for (const dim::Dim d : *fact.shape) dims.push_back(d.is_known() ? dim::evaluate(d, traces_[k]->at) : std::nullopt);
    if (k == 0) {
      operand = {fact.dtype, dims};
      continue;
    }
    if (dims.size() != operand.dims.size() || fact.dtype != operand.type) return std::nullopt;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      if (dims[axis] != operand.dims[axis]) operand.dims[axis].reset();
  }
  return operand;
}

}  // namespace thaw::lifting
