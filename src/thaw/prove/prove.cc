#include "thaw/prove/prove.h"

#include <unordered_map>

#include "thaw/core/phase.h"
#include "thaw/prove/aligned.h"
#include "thaw/prove/difference.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/read_model.h"

namespace thaw::proving {

Comparison compare(const ir::Model& model, const ir::Model& reference) {
  const Phase phase("proving");
  const Aligned aligned = align(model, reference);
  dim::Scope scope;
  Algebra algebra(scope);
  ModelReader first(algebra, *aligned.models[0], 0), second(algebra, *aligned.models[1], 1);
  const std::vector<TermId> ours = first.read(), theirs = second.read();
  std::unordered_map<std::string, TermId> by_name;
  for (size_t i = 0; i < theirs.size(); ++i) by_name.try_emplace(reference.graph->outputs()[i]->name(), theirs[i]);
  Comparison result;
  for (size_t i = 0; i < ours.size(); ++i) {
    const std::string& name = model.graph->outputs()[i]->name();
    const auto other = by_name.find(name);
    if (other == by_name.end()) continue;
    ProvenOutput& output = result.outputs.emplace_back();
    output.name = name;
    output.is_proven = ours[i] == other->second;
    if (!output.is_proven) output.place = difference(algebra.terms, ours[i], other->second);
  }
  result.terms = algebra.terms.size();
  result.rounded = algebra.constants.num_rounded();
  result.most_steps = algebra.constants.most_steps();
  return result;
}

}  // namespace thaw::proving
