#include "thaw/quant/convert.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/confirm/conversion.h"
#include "thaw/confirm/layers.h"
#include "thaw/confirm/run_check.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/read_files.h"
#include "thaw/defaults.h"
#include "thaw/generate/built_folder.h"
#include "thaw/generate/prompt_samples.h"
#include "thaw/optimize/optimize.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/quant/half/widened.h"
#include "thaw/quant/plan_file.h"
#include "thaw/quant/precisions.h"
#include "thaw/quant/seen_ranges.h"
#include "thaw/quant/target_forms.h"
#include "thaw/rewrite/same_noise.h"
#include "thaw/run/processor.h"
#include "thaw/run/providers.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/feeds.h"
#include "thaw/verbs/for_target.h"
#include "thaw/verbs/output.h"
#include "thaw/verbs/proven.h"
#include "thaw/verbs/samples.h"

namespace thaw {
namespace {

// As it can be run here: on a CPU ONNX Runtime has no kernels for most of what has 16 bits, and rounds where it likes, so that
// what overflows on other devices does not. Nodes without a kernel are run in float32 and rounded to their type.
std::unique_ptr<ir::Model> as_run_here(const ir::Model& converted) {
  std::unique_ptr<ir::Model> model = rewrite::with_same_noise(converted);
  std::optional<quantizing::MissingKernels> missing;
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16}) {
    if (!confirm::has_type(*model, type)) continue;
    if (!missing) missing = quantizing::find_missing_kernels(*model);
    quantizing::compute_in_float32(*model, type, *missing);
  }
  return model;
}

struct Conversion {
  std::unique_ptr<ir::Model> model;
  ConvertReport report;
  std::vector<Arrays> drawn;                   // what it was fed beside samples
  std::unique_ptr<ir::Model> in_float;         // the model before its nodes were converted
  std::unique_ptr<ir::Model> as_run;           // the model as it was run here; null where it was not
  std::optional<confirm::FirstRun> first_run;  // by what both ran on first
};

// What is fed, beside what is drawn.
struct GivenSamples {
  std::optional<quantizing::Samples> data, held_out;
};

// Figures of 8 bits are not those of other processors where this one overflows.
bool overflows_here(const ConvertOptions& options) {
  return !run::have_other_providers() && run::overflows_in_8_bits() &&
         quantizing::any_is(options, [&](const PrecisionOptions& asked) {
           const Int8Options how = quantizing::fitted(asked, quantizing::target_of(options)).int8;
           return asked.to == NumberFormat::kInt8 && !how.unsigned_weights && !how.reduced_range &&
                  (how.unsigned_activations || how.dynamic);
         });
}

Conversion convert_once(const ir::Model& original, const ConvertOptions& options, const FeedOptions& feeds,
                        const GivenSamples& given, const quantizing::Samples* seen) {
  const quantizing::Samples* samples = given.data ? &*given.data : seen;
  Conversion made{ir::clone(original), {}, {}, {}, {}, {}};
  quantizing::convert(*made.model, options, samples, made.report, &made.in_float);
  if (!options.check || !made.report.failures.empty()) return made;
  confirm::ConversionCheck check(as_run_here(*made.model), rewrite::with_same_noise(original), made.report);
  if (!check.load()) return made;
  const bool is_calibrated = quantizing::reads_samples(options);
  if (given.held_out) check.run_samples(*given.held_out, Dataset::kHeldOut);
  if (given.data) check.run_samples(*given.data, is_calibrated ? Dataset::kCalibration : Dataset::kHeldOut);
  made.drawn = check.run_drawn(feeds);
  check.judge();
  if (overflows_here(options) && !made.report.changed.empty())
    made.report.warnings.emplace_back(
        "this processor has no VNNI: it adds products of uint8 and int8 in 16 bits, where they overflow, so that 8 "
        "bits are "
        "worse here than elsewhere; --reduced-range or --unsigned-weights keeps them below that");
  made.first_run = check.take_first_run();
  made.as_run = check.take_converted();
  return made;
}

// Whether anything inside passes what float16 has: on what was drawn, it may without a trace in the outputs.
bool leaves_float16(const ir::Model& original, const quantizing::Samples& drawn) {
  try {
    for (const auto& [value, range] : quantizing::seen_ranges(original, drawn))
      if (std::max(-range.lowest, range.highest) > quantizing::kMostFloat16) return true;
  } catch (const Error&) {  // with all of its values as outputs it may not run; then the outputs tell what they tell
  }
  return false;
}

// Before anything is converted: what is drawn runs through both models, which would fail only then.
void require_memory_of_check(const ir::Model& original, const ConvertOptions& options) {
  if (!options.check || !options.data.empty() || !options.held_out.empty() || options.prompts.any()) return;
  if (std::string lacking = confirm::lacks_memory(original); !lacking.empty())
    throw Error(ErrorCode::kOutOfBudget, {.what = "the result cannot be compared with it: " + std::move(lacking),
                                          .where = original.path.string(),
                                          .expected = "memory in which the model runs",
                                          .next = "convert with --no-check, or allow more with --max-memory"});
}

Conversion convert_checked(const ir::Model& original, const ConvertOptions& options, const FeedOptions& feeds) {
  require_memory_of_check(original, options);
  GivenSamples given;
  if (!options.data.empty()) given.data.emplace(verbs::open_samples(options.data, options.preprocessing, original));
  if (options.prompts.any())
    given.data.emplace(std::make_shared<generating::PartSamples>(
        generating::open_built(original.path.parent_path(), options.prompts.checkpoint), options.prompts,
        original.path.stem().string()));
  if (!options.held_out.empty())
    given.held_out.emplace(verbs::open_samples(options.held_out, options.preprocessing, original));
  Conversion first = convert_once(original, options, feeds, given, nullptr);
  if (!options.check || given.data || first.drawn.empty() || !quantizing::any_is(options, NumberFormat::kFloat16))
    return first;
  const quantizing::Samples seen(std::move(first.drawn));
  if (first.report.failures.empty() && !leaves_float16(original, seen)) return first;
  // Where it leaves the range is measured, and stays in float32.
  return convert_once(original, options, feeds, given, &seen);
}

}  // namespace

void read_plan(const std::filesystem::path& path, ConvertOptions& options, const std::filesystem::path& model) {
  quantizing::read_plan(path, options, model);
}

// What samples show of inputs is worth most where codes are few (docs/internals/how-convert-works.md has the figures).
BlockMethod default_method(NumberFormat to, bool has_samples, bool real_zeros) {
  const bool has_few = to == NumberFormat::kInt4 || to == NumberFormat::kInt3 || to == NumberFormat::kInt2;
  return has_few && has_samples && !real_zeros ? BlockMethod::kGptq : BlockMethod::kSearch;
}

// Logits are read as probabilities.
ErrorMetric default_metric(bool is_folder) { return is_folder ? ErrorMetric::kKl : ErrorMetric::kMse; }

// What was said to be portable has no operators but ONNX's.
BlockForm default_form(std::optional<OptimizeTarget> target) {
  return quantizing::fitted({}, optimizing::target_of(target.value_or(OptimizeTarget::kOrt))).blocks.form;
}

PrecisionOptions default_precision(const PrecisionOptions& precision, const std::string& target) {
  ConvertOptions options;
  set_target(target.empty() ? "ort" : target, options);
  return quantizing::fitted(precision, quantizing::target_of(options));
}

void set_target(const std::string& name, ConvertOptions& options) {
  OptimizeOptions chosen;
  set_target(name, chosen);
  options.target = chosen.target;
  options.backend = chosen.backend;
}

ConvertReport convert(Model& model, const ConvertOptions& options, const Output& output) {
  quantizing::target_of(options);  // before anything is done
  if (!options.preprocessing.empty() && options.data.empty() && options.held_out.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "no folder of images or recordings is given",
                                              .where = "--for, --resize",
                                              .expected = "--data with their folder, or --held-out"});
  if (options.prompts.any() && !options.data.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "samples and prompts are given together", .where = "--data, --prompt", .expected = "one of them"});
  const ReadFiles reading;
  const CallClock clock;
  const ir::Model& original = ModelAccess::begin(model);
  verbs::require_output(original, output);
  verbs::require_renames(*ModelAccess::owner(model), output);
  Conversion made = convert_checked(original, options, verbs::with_files(options.feeds, original));
  ConvertReport report = std::move(made.report);
  report.model = original.path.string();
  report.output = output.path.string();
  report.is_checked = options.check;
  if (made.first_run)
    report.layers = confirm::compare_layers(*rewrite::with_same_noise(*made.in_float), *made.as_run, *made.first_run);
  if (!report.accepted()) return report;
  if (options.check && made.in_float) report.proof = verbs::prove_converted(*made.model, original, *made.in_float);
  if (const ops::Target& target = quantizing::target_of(options); ops::has_kernel_table(target)) {
    report.target = target.name;
    ops::TargetVerdict verdict = verbs::verdict_of(*made.model, target.name);
    report.unsupported = std::move(verdict.unsupported);
    std::ranges::move(verdict.warnings, std::back_inserter(report.warnings));
  }
  Output where = output;
  // What was outside the file and is made anew stays outside.
  if (where.save.external == ExternalPolicy::kKeep && !ir::data_files_of(original).empty())
    where.save.external = ExternalPolicy::kSingle;
  proving::forget_proof(*made.model);
  verbs::publish(
      *made.model, where,
      {.original = &original, .is_checked = options.check, .fed = made.first_run ? &made.first_run->fed : nullptr})
      .tell(report);
  if (!report.accepted()) return report;
  ModelAccess::owner(model) = std::move(made.model);
  return report;
}

}  // namespace thaw
