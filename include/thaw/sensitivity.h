// Sensitivity analysis for mixed precision: the error of the outputs when one node is converted, or all but one; and plans with least
// error for a number of bytes, or fewest bytes for an error.
//
//   thaw::SensitivityOptions options;
//   options.data = "samples/";
//   options.precisions[0].to = thaw::NumberFormat::kInt4;
//   thaw::SensitivityReport report = thaw::sensitivity(model, options);
//   thaw::MixedPlan plan = thaw::plan(report, {.max_bytes = 400 << 20});
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "thaw/convert.h"
#include "thaw/export.h"
#include "thaw/generate.h"
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// Error of an output y of the converted model against the output x of the original, over all elements of one sample. Of several outputs
// the mean.
enum class ErrorMetric : uint8_t {
  kMse,     // sum (x - y)^2 / elements
  kCosine,  // 1 - x.y / (|x| |y|)
  kKl,      // KL(softmax(x) || softmax(y)) over the last axis, mean over the others, in nats
  kSqnr,    // 10 log10(sum x^2 / sum (x - y)^2), in dB: the only one where more is better
};

struct ErrorFigures {
  double mse = 0, cosine = 0, kl = 0;
  double noise = 0;  // noise to signal, sum (x - y)^2 / sum x^2; SQNR is -10 log10 of its mean over outputs
};
THAW_API double figure_of(const ErrorFigures& figures, ErrorMetric metric);

// A mean over samples and its 95 % confidence interval, by the percentile bootstrap (Efron 1979). Of kSqnr: the SQNR of the mean noise.
struct Estimate {
  double mean = 0, low = 0, high = 0;
};

enum class SensitivityMode : uint8_t {
  kExact,  // measure every node
  kFast,   // predict from the error of the values after it; measure the worst and the uncertain
};
enum class SensitivityGroup : uint8_t {
  kNode,
  kAttention,  // q, k and v projections of one attention together
  kLayer,      // nodes of one layer, by their names: "/model/layers.3/…"
};

struct SensitivityOptions {
  std::vector<PrecisionOptions> precisions = {{.to = NumberFormat::kInt8Blocks}};  // each node is measured in each
  std::filesystem::path data = {};              // samples, as ConvertOptions::data; required for a model
  PromptOptions prompts = {};                   // samples of a folder of models
  std::vector<std::string> preprocessing = {};  // as ConvertOptions::preprocessing; for the report
  std::vector<std::string> outputs = {};        // names of outputs to compare; empty: all floating-point ones
  std::vector<std::string> keep = {};           // as ConvertOptions::keep
  ErrorMetric metric = ErrorMetric::kMse;       // for ranking; all metrics are measured
  SensitivityMode mode = SensitivityMode::kExact;
  // kFast measures every node, without leave-one-out, in models with fewer floating-point operations than this for each node: prediction
  // would take as long.
  double exact_below = 3e9;
  SensitivityGroup group = SensitivityGroup::kNode;
  bool one_out = true;  // leave-one-out errors too; kExact only
  OptimizeTarget target = OptimizeTarget::kPortable;
  std::string backend = {};          // as ConvertOptions::backend; see set_target
  bool optimize = true;              // run `optimize` first
  uint64_t max_memory = 1ULL << 30;  // bytes of activations in memory; the rest is on disk
  uint64_t seed = 0;
  // This run measures every `shards`-th node, from number `shard` on.
  size_t shard = 0, shards = 1;
  std::filesystem::path journal = {};  // file of finished measurements, a line each; empty: none
  bool resume = false;                 // take measurements of the same run from the journal
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // in estimated runs of nodes
};

enum class UnitStatus : uint8_t { kMeasured, kPredicted, kFailed };

// The error of one unit in one precision.
struct UnitError {
  size_t unit = 0, precision = 0;  // indices into SensitivityReport
  UnitStatus status = UnitStatus::kFailed;
  std::string why = {};                // why it failed
  std::vector<ErrorFigures> in = {};   // one-at-a-time: only this unit is converted; one for each sample
  std::vector<ErrorFigures> out = {};  // leave-one-out: all units but this one are; empty: not measured
  int64_t bytes = 0;                   // of constants that are saved where only it is converted
};

// A node, or a group of nodes that are converted together.
struct SensitivityUnit {
  std::string name;                // of its first node
  std::vector<std::string> nodes;  // names, as in a plan
  std::string op, layer, kind;     // "MatMul", "layers.3", "q_proj"; by names
  uint64_t bytes = 0;              // of its constants in the original
};

struct SensitivityReport {
  std::string model;  // path; of a folder of models, the folder
  std::string data;
  std::vector<std::string> preprocessing = {};  // options of `thaw inputs`: "--resize=height:48"
  // Of a folder: its models, "vision", "embedding" and "text", by which names of units and nodes begin: "text/lm_head/MatMul". Else empty.
  std::vector<std::string> parts = {};
  PromptOptions prompts = {};  // of a folder
  // hash of model, samples, options and runtime: reports with equal keys can be merged
  std::string run_key;
  std::string model_key = {};                    // hash of graph and weights: a plan is for this model only
  std::vector<std::string> excluded_nodes = {};  // nodes that match SensitivityOptions::keep
  std::vector<PrecisionOptions> precisions;
  ErrorMetric metric = ErrorMetric::kMse;
  SensitivityMode mode = SensitivityMode::kExact;
  SensitivityGroup group = SensitivityGroup::kNode;
  OptimizeTarget target = OptimizeTarget::kPortable;
  std::string backend = {};
  bool optimize = true;
  uint64_t seed = 0;
  std::vector<std::string> samples, outputs;
  std::vector<SensitivityUnit> units;                     // in node order
  std::vector<UnitError> errors;                          // by unit, then by precision; without those of other shards
  std::vector<std::vector<ErrorFigures>> uniform_errors;  // by precision, then by sample: all units converted
  std::vector<int64_t> uniform_bytes_saved;               // by precision: bytes of constants that are saved then
  // by precision: nodes in 16 bits that were computed in float32 and rounded, as no provider has a kernel for them; "*": all
  std::vector<std::vector<std::string>> computed_in_float32 = {};
  uint64_t weight_bytes = 0;  // of all constants in the original
  Runtime runtime = {};       // without a version: the report is of a Thaw that did not tell
  size_t measured = 0, predicted = 0, failed = 0;

  bool accepted() const { return measured + predicted > 0; }  // at least one unit was measured
};

// A target by its name among target_names(), in `target` or `backend`. Throws thaw::Error (kInvalidArgument) for another one. The forms
// that it takes best are those of default_precision().
THAW_API void set_target(const std::string& name, SensitivityOptions& options);

// With one sample, low and high equal the mean.
THAW_API Estimate estimate(const std::vector<ErrorFigures>& samples, ErrorMetric metric, uint64_t seed);

// `folder`: for the report (write_report()) and the journal; empty: none. Throws thaw::Error: kInvalidArgument without samples, for
// samples that do not match the inputs, and for unknown outputs; kRuntimeFailed where the original does not run.
THAW_API SensitivityReport sensitivity(const Model& model, const SensitivityOptions& options,
                                       const std::filesystem::path& folder = {});

// The same of the models in a folder that build() wrote with BuildOptions::kv_cache, as one: the decoder's logits of the tokens that
// options.prompts are answered with are compared, and units are the nodes of all parts. Throws thaw::Error also for
// SensitivityOptions::data, and as generate() does.
THAW_API SensitivityReport sensitivity(const std::filesystem::path& models, const SensitivityOptions& options,
                                       const std::filesystem::path& folder = {});

// Merges the shards of one run. Throws thaw::Error (kInvalidArgument) where their runtimes or keys differ, where two measured the same
// unit with different results, and where a unit is missing. The second function reads the reports from folders and writes to one,
// unless that is empty.
THAW_API SensitivityReport merge(const std::vector<SensitivityReport>& shards);
THAW_API SensitivityReport merge_reports(const std::vector<std::filesystem::path>& folders,
                                         const std::filesystem::path& folder);

struct PlanOptions {
  // Exactly one is set.
  std::optional<uint64_t> max_bytes = {};  // of all constants
  std::optional<double> max_error = {};    // predicted, in the report's metric
  std::optional<double> min_sqnr = {};     // predicted, in dB
};

struct MixedPlan {
  std::vector<std::optional<size_t>>
      precisions;          // by unit: index into SensitivityReport::precisions; nullopt: unchanged
  uint64_t bytes = 0;      // of all constants, predicted
  ErrorFigures predicted;  // sum of the units' one-at-a-time errors
  // Set where all units have one precision; `predicted` is the measured error then.
  std::optional<size_t> uniform = {};
};

// The plan with least error within the bytes, or with fewest bytes within the error; plans with one precision for all are candidates too.
// Units that failed stay unchanged. Throws thaw::Error (kInvalidArgument) where no plan is within the limit; it names the least possible.
THAW_API MixedPlan plan(const SensitivityReport& report, const PlanOptions& options);

// As JSON for read_plan(). Of a folder of models it has a plan for each part.
THAW_API std::string plan_json(const SensitivityReport& report, const MixedPlan& plan);

// The quantizer that a plan's file is for (docs/guide/plan.md has what each reads).
enum class PlanFormat : uint8_t {
  kThaw,      // read_plan()
  kOrt,       // ONNX Runtime's: calls of onnxruntime.quantization with their arguments
  kOlive,     // Olive's: passes of a run
  kInc,       // Neural Compressor 2's: the arguments of PostTrainingQuantConfig
  kModelopt,  // NVIDIA ModelOpt's: calls of modelopt.onnx.quantization.quantize with their arguments
};

// As JSON for one of them. Nodes are those that `optimize` makes of the model, where the report says that it ran first, and are named;
// `model` is the report's. Throws thaw::Error (kInvalidArgument) for another model and for nodes without names, and kUnsupported for a
// precision that the quantizer lacks and for a report of a folder of models.
THAW_API std::string plan_json(const Model& model, const SensitivityReport& report, const MixedPlan& plan,
                               PlanFormat format);

// The measured error of a plan.
struct MeasuredPlan {
  uint64_t bytes = 0;                 // of all constants
  std::vector<ErrorFigures> figures;  // one for each sample
  Runtime runtime = {};
};
// `data`: samples, as SensitivityOptions::data; empty: those of the report. Throws thaw::Error as sensitivity() does, and kInvalidArgument
// where the model is not that of the report.
THAW_API MeasuredPlan measure(const Model& model, const SensitivityReport& report, const MixedPlan& plan,
                              const std::filesystem::path& data = {});

// Options for the plan with the least measured error within the limits.
struct BestPlanOptions {
  PlanOptions within = {};
  std::filesystem::path model = {};             // path; empty: as in the report
  std::filesystem::path data = {};              // samples to measure plans on; empty: those of the report
  std::vector<std::string> preprocessing = {};  // as SensitivityOptions::preprocessing; empty: as in the report
  PromptOptions prompts = {};  // of a folder of models, to measure plans on; without any: those of the report
  bool check = true;           // measure plans; else use predictions, and run nothing
  PlanFormat format = PlanFormat::kThaw;  // of the file
  std::filesystem::path report = {};  // folder of the report, whose page is written again with the plan; empty: none
};
struct PlanReport {
  MixedPlan plan;
  std::optional<MeasuredPlan> measured = {};
  // The measured plan exceeds the limit, or was measured on another runtime than the report; empty: neither.
  std::string warning = {};
  std::string output = {};  // path of the file that was written

  bool accepted() const { return true; }  // a plan outside the limits is an exception
};
// `output`: file for the plan; empty: none. Throws as plan(), measure() and plan_json() do.
THAW_API PlanReport best_plan(const SensitivityReport& report, const BestPlanOptions& options,
                              const std::filesystem::path& output = {});

THAW_API std::string to_json(const SensitivityReport& report);
THAW_API std::string to_text(const SensitivityReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const SensitivityReport& report);
THAW_API std::string to_json(const PlanReport& plan, const SensitivityReport& report);
THAW_API std::string to_text(const PlanReport& plan, const SensitivityReport& report);

// Writes report.json, errors.csv and report.html, with the plan where one is given. read_report() reads report.json. Both throw
// thaw::Error for a file that cannot be written or read, or is no report of this version.
THAW_API void write_report(const SensitivityReport& report, const std::filesystem::path& folder,
                           const MixedPlan* plan = nullptr, const MeasuredPlan* measured = nullptr);
THAW_API SensitivityReport read_report(const std::filesystem::path& folder);

}  // namespace thaw
