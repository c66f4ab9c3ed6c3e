#include "thaw/run/verify.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thaw/confirm/cost_of_runs.h"
#include "thaw/confirm/model_inputs.h"
#include "thaw/confirm/own_sizes.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/in_memory.h"
#include "thaw/locate/first_differences.h"
#include "thaw/ops/rule/arity.h"
#include "thaw/prove/evidence_file.h"
#include "thaw/prove/prove.h"
#include "thaw/rewrite/same_noise.h"
#include "thaw/run/input_text.h"
#include "thaw/run/model_source.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/counterexample.h"
#include "thaw/verbs/failure_hint.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proof_sizes.h"
#include "thaw/verbs/proven.h"

namespace thaw {
namespace {

constexpr std::string_view kSameNoise = "random operators got the same numbers on both sides, matched by position";

run::Session open_with_same_noise(const run::ModelSource& source, const SessionOptions& how) {
  return run::Session(*rewrite::with_same_noise(*source.read()), how);
}

// The reference where it is a model; none where it is a file or a folder of inputs and outputs.
std::optional<run::ModelSource> reference_of(const VerifyOptions& options, const Model* in_memory) {
  if (in_memory) return run::ModelSource(ModelAccess::of(*in_memory));
  if (options.reference.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "no reference is given",
                 .where = options.model.string(),
                 .expected = "--against FILE, or --against-provider NAME for the model itself",
                 .next = "name one of them"});
  std::error_code failed;
  if (options.reference.extension() == ".npz" || std::filesystem::is_directory(options.reference, failed))
    return std::nullopt;
  return run::ModelSource(options.reference);
}

// Files with a name become arrays, the others hold inputs by cases.
VerifyOptions with_files(const VerifyOptions& options, const std::vector<run::InputSpec>& inputs) {
  verbs::require_shapes(options.feeds, inputs);
  VerifyOptions read = options;
  read.feeds.files.clear();
  run::add_input_files(options.feeds.files, read.feeds, read.input_files, inputs);
  verbs::require_none_of(read.feeds, read.input_files, inputs);
  return read;
}

std::unique_ptr<ir::Model> looked_into(const run::ModelSource& source, const run::OpenSession& open) {
  std::unique_ptr<ir::Model> model = source.read();
  return open ? rewrite::with_same_noise(*model) : std::move(model);
}

void require_two_models(const VerifyOptions& options, const run::VerifiedModel& model) {
  if (!options.where || (model.reference && !options.how.per_sample)) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = options.how.per_sample ? "the reference runs sample by sample" : "the reference is no model",
               .where = "--where, " + options.reference.string(),
               .expected = "two models that run on the same inputs",
               .next = "leave --where out"});
}

// What the runs cannot do: compare at every size.
void require_provable(const VerifyOptions& options, bool has_reference) {
  if (!options.prove && options.replay.empty()) return;
  std::string why;
  if (!has_reference) why = "the reference is no model";
  if (!options.how.names.empty()) why = "inputs and outputs are mapped to others";
  if (options.how.per_sample) why = "the reference is run sample by sample";
  if (options.how.cast) why = "types are converted";
  if (!options.mask.empty()) why = "outputs are compared in part";
  if (why.empty()) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "there is no proof, because " + why,
               .where = options.prove ? "verify --prove" : "verify --replay",
               .expected = "a reference model with the same names and types of inputs and outputs",
               .next = "leave out --prove, or the options --map, --per-sample, --cast and --mask"});
}

// What is written and read beside the runs.
void require_evidence_options(const VerifyOptions& options) {
  const auto refuse = [&](const char* what, const char* where, const char* next) {
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = what, .where = where, .expected = "a proof that is written, or one that is checked", .next = next});
  };
  if (!options.evidence.empty() && !options.prove)
    refuse("there is no proof to write", "verify --evidence", "add --prove");
  if (options.replay.empty()) return;
  if (options.prove) refuse("evidence is checked instead of a proof", "verify --replay", "leave out --prove");
  if (!options.sweep.empty() || !options.sizes.empty())
    refuse("the evidence says for which sizes it is", "verify --replay, --sizes", "leave out --sizes");
}

// What is proven, and what is so but for constants.
std::vector<const proving::Evidence*> parts_of(const proving::EvidenceFile& file) {
  std::vector<const proving::Evidence*> parts{&file.proven};
  if (file.quantized) parts.push_back(&file.quantized->evidence);
  return parts;
}

ProofEvidence summary_of(const proving::EvidenceFile& file, const std::filesystem::path& path) {
  ProofEvidence summary{.path = path.string()};
  for (const proving::Evidence* part : parts_of(file)) {
    summary.outputs += part->outputs.size();
    summary.steps += part->steps.size();
    summary.steps_by_laws +=
        static_cast<size_t>(std::ranges::count(part->steps, proving::Step::By::kLaws, &proving::Step::by));
  }
  return summary;
}

// Writes the steps of what is proven, where something is; a note says what they do not have.
void write_evidence(const proving::EvidenceFile& evidence, const std::filesystem::path& path, VerifyReport& report) {
  std::string missing;
  for (const OutputProof& output : report.proof.outputs) {
    const bool is_due = output.verdict == OutputVerdict::kProven || output.verdict == OutputVerdict::kQuantized;
    const auto has = [&](const proving::Evidence* part) { return proving::is_shown(*part, output.name); };
    if (is_due && !std::ranges::any_of(parts_of(evidence), has))
      missing += (missing.empty() ? "'" : ", '") + output.name + "'";
  }
  if (!missing.empty()) report.notes.push_back("no steps were found within the budget for the evidence of " + missing);
  if (evidence.proven.outputs.empty() && !evidence.quantized) {
    report.notes.push_back("no evidence was written, as it would prove no output");
    return;
  }
  write_whole(path, proving::to_json(evidence));
  report.proof.evidence = summary_of(evidence, path);
}

std::vector<std::string> sizes_of(const proving::EvidenceFile& evidence, const ir::Model& model) {
  std::vector<proving::SizeBound> bounds;
  for (const proving::Evidence* part : parts_of(evidence))
    for (const proving::AlignedSize& size : part->sizes)
      if (size.bound && std::ranges::find(bounds, *size.bound) == bounds.end()) bounds.push_back(*size.bound);
  return verbs::texts_of(bounds, model);
}

OutputVerdict verdict_of(const std::string& output, const proving::EvidenceFile& evidence) {
  if (proving::is_shown(evidence.proven, output)) return OutputVerdict::kProven;
  return evidence.quantized && proving::is_shown(evidence.quantized->evidence, output) ? OutputVerdict::kQuantized
                                                                                       : OutputVerdict::kOpen;
}

// A proof that was written, checked step by step.
VerifyReport replayed(const VerifyOptions& options, const ir::Model& model, const ir::Model& reference) {
  const proving::EvidenceFile evidence = proving::read_evidence(options.replay);
  proving::replay(model, reference, evidence, options.replay.string());
  VerifyReport report{.model = options.model.string(), .reference = options.reference.string()};
  for (const ir::Value* output : model.graph->outputs()) {
    if (!std::ranges::any_of(reference.graph->outputs(),
                             [&](const ir::Value* v) { return v->name() == output->name(); }))
      continue;
    const OutputVerdict verdict = verdict_of(output->name(), evidence);
    report.proof.outputs.push_back({.name = output->name(),
                                    .verdict = verdict,
                                    .place = verdict == OutputVerdict::kOpen ? "the evidence has no step for it" : ""});
  }
  if (evidence.quantized)
    for (const proving::QuantizedConstant& one : evidence.quantized->constants)
      report.proof.quantized.push_back({one.name, one.difference});
  report.proof.sizes = sizes_of(evidence, model);
  for (const proving::Evidence* part : parts_of(evidence))
    for (const proving::Step& step : part->steps) {
      report.proof.terms += step.term.size();
      report.proof.rounded_constants += step.rounded.size();
      for (const proving::Rounded& one : step.rounded)
        report.proof.rounding_steps = std::max(report.proof.rounding_steps, one.steps);
      for (const std::string& text : step.assumed)
        if (std::ranges::find(report.proof.assumptions, text) == report.proof.assumptions.end())
          report.proof.assumptions.push_back(text);
    }
  std::ranges::sort(report.proof.assumptions);
  report.proof.evidence = summary_of(evidence, options.replay);
  return report;
}

// The verdicts that the runs leave: what differs in one is not proven.
Proof beside_runs(Proof proof, const std::vector<PointResult>& points) {
  std::set<std::string> compared, differs;
  for (const PointResult& point : points)
    for (const OutputResult& output : point.outputs) {
      compared.insert(output.name);
      if (!output.comparison.agrees) differs.insert(output.name);
    }
  if (!compared.empty())
    std::erase_if(proof.outputs, [&](const OutputProof& output) { return !compared.contains(output.name); });
  for (OutputProof& output : proof.outputs)
    if (differs.contains(output.name) && output.verdict != OutputVerdict::kQuantized)
      output.verdict = OutputVerdict::kDiffers;
  return proof;
}

VerifyReport verify_against(const VerifyOptions& options, run::VerifiedModel model) {
  require_two_models(options, model);
  require_evidence_options(options);
  require_provable(options, model.reference.has_value());
  dim::Scope scope;
  Proof proof;
  proving::EvidenceFile evidence;
  {
    const auto loaded = model.source.read();  // its mapping is not needed while ONNX Runtime runs
    ops::require_arity(*loaded);
    const std::unique_ptr<ir::Model> reference = model.reference ? model.reference->read() : nullptr;
    if (reference) ops::require_arity(*reference);
    if (!options.replay.empty()) return replayed(options, *loaded, *reference);
    if (options.prove) {
      const auto bounds = verbs::bounds_of(options, *loaded);
      const bool is_written = !options.evidence.empty();
      proof = verbs::proof_of(proving::compare(*loaded, *reference, bounds, is_written ? &evidence.proven : nullptr),
                              *loaded);
      verbs::prove_but_for_constants(proof, *loaded, *reference, *reference, bounds,
                                     is_written ? &evidence.quantized : nullptr);
    }
    run::prepare_sessions();
    confirm::ModelInputs known = confirm::look_at_inputs(*loaded, scope);
    model.inputs = std::move(known.inputs);
    model.conditions = std::move(known.conditions);
    model.cost = confirm::cost_of_runs(*loaded, known.facts);
    if (reference) confirm::add_origin(model.cost, *reference, *loaded, scope);
    if (reference && (rewrite::draws_numbers(*loaded) || rewrite::draws_numbers(*reference)))
      model.open = open_with_same_noise;
  }
  std::unique_ptr<ir::Model> ours, theirs;  // what the first differences are looked for in
  if (options.where)
    model.first_differences = [&](const Arrays& feeds, const std::vector<std::string>& outputs) {
      ours = looked_into(model.source, model.open);
      theirs = looked_into(*model.reference, model.open);
      SessionOptions how = options.how.session;
      if (!options.how.providers.empty()) how.providers = options.how.providers;
      return locate::find_first_differences({.model = {*ours, options.how.session},
                                             .reference = {*theirs, how},
                                             .names = options.how.names,
                                             .tolerance = options.tolerance,
                                             .cast = options.how.cast,
                                             .feeds = feeds,
                                             .outputs = outputs});
    };
  model.frozen_sizes = [&] { return confirm::own_input_sizes(*model.source.read(), model.inputs, scope); };
  VerifyReport report = run::verify(with_files(options, model.inputs), model, scope);
  report.model = options.model.string();
  report.reference = options.reference.string();
  if (model.open) report.notes.emplace_back(kSameNoise);
  if (options.prove) {
    report.proof = beside_runs(std::move(proof), report.points);
    if (!options.evidence.empty()) write_evidence(evidence, options.evidence, report);
    model.first_differences = {};
    report.counterexample = verbs::find_counterexample(
        options, report, [&](const VerifyOptions& again) { return run::verify(again, model, scope); });
  }
  return report;
}

}  // namespace

VerifyReport verify(const VerifyOptions& options) { return verify(options, nullptr, nullptr); }

VerifyReport verify(const VerifyOptions& given, const Model* model, const Model* reference) {
  const CallClock clock;
  VerifyOptions options = given;
  // The model itself, on another provider.
  if (reference == nullptr && options.reference.empty() && !options.how.providers.empty()) {
    reference = model;
    options.reference = options.model;
  }
  run::VerifiedModel verified{.source = model ? run::ModelSource(ModelAccess::of(*model)) : options.model,
                              .reference = reference_of(options, reference)};
  options.model = verified.source.path();
  verbs::require_other_file(options.evidence, std::array{options.model, options.reference});
  if (!options.evidence.empty()) const AtomicFile probe(options.evidence);
  if (verified.reference) options.reference = verified.reference->path();
  try {
    return verify_against(options, std::move(verified));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kRuntimeFailed || !error.parts().next.empty()) throw;
    throw verbs::with_rule(error, options.model.string());
  }
}

}  // namespace thaw
