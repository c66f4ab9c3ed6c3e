#include "thaw/prove/prove.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "thaw/core/phase.h"
#include "thaw/ir/wire/model_hash.h"
#include "thaw/prove/difference.h"
#include "thaw/prove/laws.h"
#include "thaw/prove/read_model.h"
#include "thaw/prove/sides.h"

namespace thaw::proving {
namespace {

Comparison compare(const Sides& sides, Weights weights, Evidence* evidence, std::span<const std::string> others) {
  Algebra algebra(sides.scope(), weights);
  for (size_t i = 0; i < 2; ++i) algebra.constants.look_at(*sides.facts(i).model().graph, i);
  ModelReader first(algebra, sides.facts(0), 0), second(algebra, sides.facts(1), 1);
  first.read();
  second.read();
  Comparison result;
  const std::vector<uint8_t> assumed = algebra.terms.all_assumed();
  const std::vector<Algebra::Certainty> certainties = algebra.certainties();
  for (const std::string& name : sides.output_names(0)) {
    const ir::Value *ours = sides.output(0, name), *theirs = sides.output(1, name);
    if (!theirs) continue;
    const TermId a = first.terms().at(ours), b = second.terms().at(theirs);
    ProvenOutput& output = result.outputs.emplace_back();
    output.name = name;
    output.is_proven = a == b && !certainties[a].is_uncertain;
    if (!output.is_proven)
      output.place =
          a == b ? "a step of constants that are the same but for rounding" : difference(algebra.terms, a, b);
    output.assumed = assumed[a];
  }
  result.terms = algebra.terms.size();
  result.rounded = algebra.constants.rounded().size();
  result.most_steps = algebra.constants.most_steps();
  if (!evidence) return result;
  const Phase phase("writing the proof down");
  EvidenceSearch search(sides, algebra.terms, {&first.terms(), &second.terms()}, weights, *evidence);
  for (const ProvenOutput& output : result.outputs)
    if (output.is_proven && !is_shown(*evidence, output.name) && std::ranges::find(others, output.name) == others.end())
      search.show(output.name);
  return result;
}

}  // namespace

Comparison compare(const ir::Model& model, const ir::Model& reference, std::span<const SizeBound> bounds,
                   Evidence* evidence, std::span<const std::string> others) {
  const Phase phase("proving");
  const Sides sides(model, reference, bounds);
  if (evidence)
    *evidence = {.model_hash = ir::hash_of(model),
                 .reference_hash = ir::hash_of(reference),
                 .sizes = sides.aligned().sizes,
                 .steps = {},
                 .outputs = {}};
  Comparison result = compare(sides, Weights::kAsRead, evidence, others);
  for (const AlignedSize& size : sides.aligned().sizes)
    if (size.bound) result.sizes.push_back(*size.bound);
  const auto with_assumed = [](Comparison made) {
    for (const ProvenOutput& output : made.outputs)
      if (output.is_proven) made.assumed |= output.assumed;
    return made;
  };
  if (std::ranges::all_of(result.outputs, &ProvenOutput::is_proven)) return with_assumed(std::move(result));
  // What is open may be so for a scale in a weight. Each of the two is a proof of its own.
  Comparison again = compare(sides, Weights::kScaled, evidence, others);
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
  return with_assumed(std::move(result));
}

}  // namespace thaw::proving
