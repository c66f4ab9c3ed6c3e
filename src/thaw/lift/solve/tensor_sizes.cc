#include "thaw/lift/solve/tensor_sizes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"

namespace thaw::lifting {
namespace {

// In characters. Where something frozen came before, an expression is wrong, and long.
constexpr size_t kLongestText = 320;

class Collecting {
 public:
  explicit Collecting(std::span<const Variable> variables) : traces_(assignments_in_traces(variables)) {}

  // in_traces: what it was there, where that is known. Whether it is what the traces have.
  bool add(dim::Dim d, const std::optional<std::vector<int64_t>>& in_traces) {
    if (d.is_constant())
      return in_traces && !in_traces->empty() &&
             std::ranges::all_of(*in_traces, [&](int64_t at) { return d.is_constant(at); });
    if (!d.is_symbolic() || dim::is_data_dependent(d)) return false;
    auto known = values_.find(d.expr());
    if (known == values_.end()) {
      if (dim::to_string(d).size() > kLongestText) return false;
      std::vector<int64_t> values;
      for (const dim::Assignment& at : traces_) {
        const auto value = dim::evaluate(d, at);
        if (!value) return false;
        values.push_back(*value);
      }
      known = values_.emplace(d.expr(), std::move(values)).first;
    }
    if (in_traces && known->second != *in_traces) return false;
    keep(d, known->second);
    return in_traces.has_value();
  }

  TensorSizes take() { return std::move(sizes_); }

 private:
  void keep(dim::Dim d, const std::vector<int64_t>& values) {
    constexpr size_t kMostOthers = 64, kMostOfTheSame = 4;  // symbols
    const auto [known, is_new] = sizes_.emplace(values, TensorSize{d});
    TensorSize& size = known->second;
    const auto is_it = [&](dim::Dim other) { return dim::same(other, d); };
    if (is_new || is_it(size.dim) || std::ranges::any_of(size.others, is_it)) return;
    if (dim::to_string(d).size() < dim::to_string(size.dim).size()) std::swap(size.dim, d);
    // Those of other sides tell apart what those of one side, rounded in many ways, do not.
    const auto is_of_the_same = [&](dim::Dim other) { return dim::symbols_of(other) == dim::symbols_of(d); };
    if (size.others.size() < kMostOthers &&
        std::ranges::count_if(size.others, is_of_the_same) < std::ptrdiff_t{kMostOfTheSame})
      size.others.push_back(d);
  }

  std::vector<dim::Assignment> traces_;
  std::unordered_map<const dim::Expr*, std::vector<int64_t>> values_;  // in each trace, of what was seen
  TensorSizes sizes_;
};

}  // namespace

TensorSizes sizes_of_tensors(const std::vector<Trace>& traces, std::span<const Variable> variables, dim::Scope& scope,
                             const SizesInTraces& in_traces, TensorShapes* shapes) {
  if (variables.empty()) return {};
  const ir::Model& model = *traces.front().model;
  infer::InferOptions options;
  options.prefer_symbols = true;  // past what is frozen
  for (const Variable& v : variables) options.assumed_sizes[scope.symbol_id(v.symbol)] = v.at.front();
  for (const ir::Value* input : model.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    const auto& others = traces.back().model->graph->inputs();  // an input that came back is in the first trace only
    if (std::ranges::none_of(others, [&](const ir::Value* other) { return other->name() == input->name(); })) continue;
    const std::vector<dim::Dim> dims = input_dims(*input, traces, variables);
    const bool known = std::all_of(dims.begin(), dims.end(), [](dim::Dim d) { return d.is_known(); });
    if (known) options.inputs[input] = ops::Fact::tensor(input->type.elem_type, dims);
    if (known && shapes) (*shapes)[input] = dims;
  }
  const infer::Result inferred = infer::infer(model, scope, options);
  Collecting collecting(variables);
  for (const ir::Node* node : model.graph->nodes()) {
    for (int i = 0; i < static_cast<int>(node->outputs().size()); ++i) {
      const ir::Value* output = node->output(i);
      if (!output || !inferred.fact(output).shape) continue;
      const ops::Shape& shape = *inferred.fact(output).shape;
      bool all = true;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        all &= collecting.add(shape[axis], in_traces ? in_traces(node, i, axis) : std::nullopt);
      if (all && shapes && !shape.empty()) (*shapes)[output] = shape;
    }
  }
  return collecting.take();
}

}  // namespace thaw::lifting
