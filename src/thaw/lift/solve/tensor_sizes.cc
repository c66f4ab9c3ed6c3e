#include "thaw/lift/solve/tensor_sizes.h"

#include <algorithm>
#include <unordered_set>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"

namespace thaw::lifting {
namespace {

// In characters. Where something frozen came before, an expression is wrong, and long.
constexpr size_t kLongest = 80;

class Collecting {
 public:
  Collecting(std::span<const Variable> variables, const dim::Scope& scope) {
    for (size_t k = 0; k < variables.front().at.size(); ++k) {
      dim::Assignment& at = traces_.emplace_back();
      for (const Variable& v : variables) at[scope.symbol_id(v.symbol)] = v.at[k];
    }
  }

  void add(dim::Dim d) {
    if (!d.is_symbolic() || !seen_.insert(d.expr()).second || dim::is_data_dependent(d)) return;
    if (dim::to_string(d).size() > kLongest) return;
    std::vector<int64_t> values;
    for (const dim::Assignment& at : traces_) {
      const auto value = dim::evaluate(d, at);
      if (!value) return;
      values.push_back(*value);
    }
    const auto [known, is_new] = sizes_.emplace(std::move(values), d);
    if (!is_new && dim::to_string(d).size() < dim::to_string(known->second).size()) known->second = d;
  }

  TensorSizes take() { return std::move(sizes_); }

 private:
  std::vector<dim::Assignment> traces_;
  std::unordered_set<const dim::Expr*> seen_;
  TensorSizes sizes_;
};

}  // namespace

TensorSizes sizes_of_tensors(const std::vector<Trace>& traces, std::span<const Variable> variables, dim::Scope& scope) {
  if (variables.empty()) return {};
  const ir::Model& model = *traces.front().model;
  infer::InferOptions options;
  options.prefer_symbols = true;  // past what is frozen
  for (const Variable& v : variables) options.hints[scope.symbol_id(v.symbol)] = v.at.front();
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    const std::vector<dim::Dim> dims = input_dims(*input, traces, variables);
    const bool known = std::all_of(dims.begin(), dims.end(), [](dim::Dim d) { return d.is_known(); });
    if (known) options.inputs[input] = ops::Fact::tensor(input->type.elem_type, dims);
  }
  const infer::Result inferred = infer::infer(model, scope, options);
  Collecting collecting(variables, scope);
  for (const ir::Node* node : model.graph->nodes()) {
    for (const ir::Value* output : node->outputs()) {
      if (!output || !inferred.fact(output).shape) continue;
      for (const dim::Dim d : *inferred.fact(output).shape) collecting.add(d);
    }
  }
  return collecting.take();
}

}  // namespace thaw::lifting
