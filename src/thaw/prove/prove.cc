#include "thaw/prove/prove.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/core/phase.h"
#include "thaw/prove/aligned.h"
#include "thaw/prove/difference.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/read_model.h"

namespace thaw::proving {
namespace {

using Names = std::vector<std::string>;

Names output_names(const ir::Model& model) {
  Names names;
  for (const ir::Value* output : model.graph->outputs()) names.push_back(output->name());
  return names;
}

// `names`: of the outputs, as the models had them before they were made ready.
Comparison compare(const Aligned& aligned, const std::array<Names, 2>& names, Weights weights) {
  dim::Scope scope;
  Algebra algebra(scope, weights);
  for (size_t i = 0; i < 2; ++i) algebra.constants.look_at(*aligned.models[i]->graph, i);
  ModelReader first(algebra, *aligned.models[0], 0), second(algebra, *aligned.models[1], 1);
  const std::vector<TermId> ours = first.read(), theirs = second.read();
  std::unordered_map<std::string, TermId> by_name;
  for (size_t i = 0; i < theirs.size(); ++i) by_name.try_emplace(names[1][i], theirs[i]);
  Comparison result;
  for (size_t i = 0; i < ours.size(); ++i) {
    const auto other = by_name.find(names[0][i]);
    if (other == by_name.end()) continue;
    ProvenOutput& output = result.outputs.emplace_back();
    output.name = names[0][i];
    output.is_proven = ours[i] == other->second;
    if (!output.is_proven) output.place = difference(algebra.terms, ours[i], other->second);
  }
  result.terms = algebra.terms.size();
  result.rounded = algebra.constants.num_rounded();
  result.most_steps = algebra.constants.most_steps();
  return result;
}

}  // namespace

Comparison compare(const ir::Model& model, const ir::Model& reference) {
  const Phase phase("proving");
  const Aligned aligned = align(model, reference);
  const std::array<Names, 2> names{output_names(model), output_names(reference)};
  Comparison result = compare(aligned, names, Weights::kAsRead);
  if (std::ranges::all_of(result.outputs, &ProvenOutput::is_proven)) return result;
  // What is open may be so for a scale in a weight. Each of the two is a proof of its own.
  Comparison again = compare(aligned, names, Weights::kScaled);
  bool is_needed = false;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    if (result.outputs[i].is_proven || !again.outputs[i].is_proven) continue;
    result.outputs[i] = std::move(again.outputs[i]);
    is_needed = true;
  }
  if (is_needed) {
    result.terms += again.terms;
    result.rounded += again.rounded;
    result.most_steps = std::max(result.most_steps, again.most_steps);
  }
  return result;
}

}  // namespace thaw::proving
