#include "thaw/lift/unseen/contradictions.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/lift/unseen/unseen_sizes.h"

namespace thaw::lifting {
namespace {

// The inputs of the lifted model as inference sees them at these sizes.
infer::InferOptions at_sizes(const ir::Model& lifted, std::span<const Variable> variables,
                             const std::vector<int64_t>& sizes) {
  std::map<std::string, int64_t> dims;
  std::map<std::string, std::map<int64_t, int64_t>> values;  // by input and element
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (variables[i].kind == Variable::Kind::kDim) dims[dim::to_string(variables[i].symbol)] = sizes[i];
    if (variables[i].kind == Variable::Kind::kValue) values[variables[i].input][variables[i].index] = sizes[i];
  }
  infer::InferOptions options;
  for (const ir::Value* input : lifted.graph->inputs()) {
    if (input->initializer() || !input->type.shape) continue;
    ops::Shape shape;
    for (const ir::DeclaredDim& declared : *input->type.shape) {
      const auto known = dims.find(declared.param);
      if (declared.value) shape.push_back(dim::Dim(*declared.value));
      if (!declared.value && known != dims.end()) shape.push_back(dim::Dim(known->second));
    }
    if (shape.size() != input->type.shape->size()) continue;
    ops::Fact fact = ops::Fact::tensor(input->type.elem_type, std::move(shape));
    const auto given = values.find(input->name());
    if (given != values.end() && fact.num_elements().is_constant(static_cast<int64_t>(given->second.size()))) {
      ops::Elements elements;
      for (const auto& [index, value] : given->second) elements.push_back(ops::Element::integer(dim::Dim(value)));
      fact.elements = std::make_shared<const ops::Elements>(std::move(elements));
    }
    options.inputs[input] = std::move(fact);
  }
  return options;
}

infer::Result inferred_at(const ir::Model& lifted, std::span<const Variable> variables,
                          const std::vector<int64_t>& sizes) {
  dim::Scope scope;
  return infer::infer(lifted, scope, at_sizes(lifted, variables, sizes));
}

}  // namespace

Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables,
                                   const std::unordered_set<const ir::Node*>& traced) {
  return find_contradictions(lifted, variables, traced, unseen_sizes(variables));
}

Contradictions find_contradictions(const ir::Model& lifted, std::span<const Variable> variables,
                                   const std::unordered_set<const ir::Node*>& traced,
                                   const std::vector<std::vector<int64_t>>& at) {
  Contradictions out;
  if (std::none_of(variables.begin(), variables.end(), [](const Variable& v) { return v.varies(); })) return out;
  std::unordered_map<const ir::Node*, size_t> places;
  for (const ir::Node* node : lifted.graph->nodes())
    if (traced.contains(node)) places.emplace(node, places.size());
  for (const std::vector<int64_t>& sizes : at) {
    const infer::Result inferred = inferred_at(lifted, variables, sizes);
    const infer::Problem* problem = inferred.problems().empty() ? nullptr : &inferred.problems().front();
    const bool is_made = !problem || traced.contains(problem->node);
    ++(is_made ? out.sizes : out.unmade);
    if (is_made) out.num_sound_nodes += places.size();
    if (!problem) continue;
    std::string& first = is_made ? out.first : out.first_unmade;
    if (first.empty())
      first =
          fmt::format("{}: {}, at {}", problem->node->describe(), problem->message, text_of_sizes(variables, sizes));
    if (!is_made) continue;
    if (!out.first_node) out.first_node = problem->node;
    ++out.broken;
    const auto place = places.find(problem->node);
    if (place != places.end()) out.num_sound_nodes -= places.size() - place->second;
  }
  return out;
}

bool runs_at(const ir::Model& lifted, std::span<const Variable> variables,
             const std::vector<std::vector<int64_t>>& sizes) {
  return std::ranges::all_of(
      sizes, [&](const std::vector<int64_t>& each) { return inferred_at(lifted, variables, each).problems().empty(); });
}

}  // namespace thaw::lifting
