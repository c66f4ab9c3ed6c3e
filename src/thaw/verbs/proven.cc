#include "thaw/verbs/proven.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "thaw/core/error.h"
#include "thaw/ir/wire/model_hash.h"
#include "thaw/prove/joined.h"
#include "thaw/prove/one_sample.h"
#include "thaw/prove/quantized.h"
#include "thaw/prove/samples.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/verbs/proof_sizes.h"

namespace thaw {

bool Proof::all_proven() const {
  return !outputs.empty() && std::ranges::all_of(outputs, [](const OutputProof& output) {
    return output.verdict == OutputVerdict::kProven;
  });
}

namespace verbs {
namespace {

// No failure of a proof is one of the verb: the result was run.
Proof prove_where_runs_agree(const std::vector<RunCheck>& checks, const std::function<Proof()>& compare) {
  Proof proof;
  if (checks.empty() || !confirm::all_agree(checks)) return proof;
  try {
    proof = compare();
  } catch (const Error& error) {
    proof.reason = error.parts().what;
  }
  return proof;
}

std::unique_ptr<ir::Model> with_given(const ir::Model& original, const Arrays& given) {
  std::unique_ptr<ir::Model> model = ir::clone(original);
  for (const auto& [name, array] : given) {
    ir::Value* input = model->graph->find(name);
    if (!input || !input->is_input() || array.is_string()) continue;
    model->graph->replace_initializer(input, ir::Tensor::from_bytes(name, array.dtype, array.dims, array.bytes));
    model->graph->remove_input(input);
  }
  return model;
}

// Its outputs have the names of the result's, in their order: exporters call those of each trace otherwise.
void name_outputs_as(const ir::Model& result, ir::Model& traced) {
  const auto &wanted = result.graph->outputs(), &own = traced.graph->outputs();
  for (size_t i = 0; i < std::min(wanted.size(), own.size()); ++i) {
    const std::string& name = wanted[i]->name();
    if (own[i]->name() == name) continue;
    if (ir::Value* other = traced.graph->find(name)) traced.graph->rename(other, traced.graph->unique_name(name));
    traced.graph->rename(own[i], name);
  }
}

}  // namespace

Proof proof_of(proving::Comparison compared, const ir::Model& model) {
  Proof proof{.outputs = {},
              .sizes = texts_of(compared.sizes, model),
              .terms = compared.terms,
              .rounded_constants = compared.rounded,
              .rounding_steps = compared.most_steps,
              .assumptions = proving::texts_of(compared.assumed),
              .reason = {}};
  for (proving::ProvenOutput& output : compared.outputs)
    proof.outputs.push_back({.name = std::move(output.name),
                             .verdict = output.is_proven ? OutputVerdict::kProven : OutputVerdict::kOpen,
                             .place = std::move(output.place)});
  return proof;
}

Proof prove(const ir::Model& result, const ir::Model& original, const std::vector<RunCheck>& checks) {
  return prove_where_runs_agree(checks, [&] { return proof_of(proving::compare(result, original), result); });
}

Proof prove_pinned(const ir::Model& pinned, const ir::Model& original, const Arrays& given,
                   const std::vector<RunCheck>& checks) {
  return prove_where_runs_agree(
      checks, [&] { return proof_of(proving::compare(pinned, *with_given(original, given)), pinned); });
}

Proof prove_parts(std::span<const ir::Model* const> parts, const ir::Model& whole,
                  const std::vector<RunCheck>& checks) {
  return prove_where_runs_agree(checks, [&] {
    const std::unique_ptr<ir::Model> joined = proving::join(parts);
    return proof_of(proving::compare(*joined, whole), *joined);
  });
}

Proof prove_batched(const ir::Model& batched, const ir::Model& original, std::string_view batch,
                    const std::vector<RunCheck>& checks) {
  return prove_where_runs_agree(checks, [&] {
    const std::unique_ptr<ir::Model> one = proving::as_batch_of_one(original, batched);
    Proof proof = proof_of(proving::compare(batched, *one), batched);
    for (const proving::OutputOfSamples& apart : proving::samples_apart(batched, batch)) {
      const auto output = std::ranges::find(proof.outputs, apart.name, &OutputProof::name);
      if (apart.place.empty() || output == proof.outputs.end() || output->verdict != OutputVerdict::kProven) continue;
      output->verdict = OutputVerdict::kOpen;
      output->place = "one sample alone is proven; several may reach each other: " + apart.place;
    }
    return proof;
  });
}

Proof prove_each(const ir::Model& result, std::span<const Origin> origins, const std::vector<RunCheck>& checks) {
  return prove_where_runs_agree(checks, [&] {
    Proof all;
    for (const ir::Value* output : result.graph->outputs())
      all.outputs.push_back({.name = output->name(), .verdict = OutputVerdict::kProven, .place = {}});
    for (const Origin& origin : origins) {
      const std::unique_ptr<ir::Model> traced = with_given(*origin.model, origin.given);
      name_outputs_as(result, *traced);
      const Proof one = proof_of(proving::compare(*with_given(result, origin.given), *traced), result);
      for (OutputProof& output : all.outputs) {
        const auto found = std::ranges::find(one.outputs, output.name, &OutputProof::name);
        if (output.verdict != OutputVerdict::kProven ||
            (found != one.outputs.end() && found->verdict == OutputVerdict::kProven))
          continue;
        output.verdict = OutputVerdict::kOpen;
        output.place = found != one.outputs.end() ? found->place : "no output of that name in a trace";
      }
      all.terms += one.terms;
      all.rounded_constants += one.rounded_constants;
      all.rounding_steps = std::max(all.rounding_steps, one.rounding_steps);
      for (const std::string& text : one.assumptions)
        if (std::ranges::find(all.assumptions, text) == all.assumptions.end()) all.assumptions.push_back(text);
    }
    return all;
  });
}

void prove_but_for_constants(Proof& proof, const ir::Model& quantized, const ir::Model& original,
                             const ir::Model& constants_of, std::span<const proving::SizeBound> bounds,
                             std::optional<proving::ButForConstants>* evidence) {
  if (proof.all_proven()) return;
  const proving::WithoutQuantization without = proving::with_constants_of(quantized, constants_of);
  if (without.constants.empty()) return;
  std::vector<std::string> proven;
  for (const OutputProof& output : proof.outputs)
    if (output.verdict == OutputVerdict::kProven) proven.push_back(output.name);
  proving::ButForConstants shown{.constants = without.constants, .evidence = {}};
  const Proof again = proof_of(
      proving::compare(*without.model, original, bounds, evidence ? &shown.evidence : nullptr, proven), quantized);
  bool is_needed = false;
  for (OutputProof& output : proof.outputs) {
    const auto found = std::ranges::find(again.outputs, output.name, &OutputProof::name);
    if (output.verdict == OutputVerdict::kProven || found == again.outputs.end()) continue;
    output = *found;
    if (output.verdict != OutputVerdict::kProven) continue;
    output.verdict = OutputVerdict::kQuantized;
    is_needed = true;
  }
  if (!is_needed) return;
  if (evidence && !shown.evidence.outputs.empty()) *evidence = std::move(shown);
  for (const proving::QuantizedConstant& one : without.constants) proof.quantized.push_back({one.name, one.difference});
  for (const std::string& size : again.sizes)  // which the constants ask for
    if (std::ranges::find(proof.sizes, size) == proof.sizes.end()) proof.sizes.push_back(size);
  proof.terms += again.terms;
  proof.rounded_constants += again.rounded_constants;
  proof.rounding_steps = std::max(proof.rounding_steps, again.rounding_steps);
  for (const std::string& text : again.assumptions)
    if (std::ranges::find(proof.assumptions, text) == proof.assumptions.end()) proof.assumptions.push_back(text);
}

Proof prove_converted(const ir::Model& converted, const ir::Model& original, const ir::Model& constants_of) {
  Proof proof;
  try {
    proof = proof_of(proving::compare(converted, original), converted);
    prove_but_for_constants(proof, converted, original, constants_of);
  } catch (const Error& error) {
    proof.reason = error.parts().what;
  }
  return proof;
}

void keep_proof(ir::Model& result, const ir::Model& original, const Proof& proof) {
  const std::string origin = ir::hash_of(original);
  if (ir::hash_of(result) == origin) return;
  proving::forget_proof(result);
  if (proof.outputs.empty()) return;
  const auto proven = std::ranges::count(proof.outputs, OutputVerdict::kProven, &OutputProof::verdict);
  proving::state_proof(result,
                       {.proven = static_cast<size_t>(proven), .outputs = proof.outputs.size(), .origin = origin});
}

}  // namespace verbs
}  // namespace thaw
