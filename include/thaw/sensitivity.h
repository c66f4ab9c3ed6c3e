// Which nodes of a model may lose precision: the error at its outputs when one of them is converted, or all but one, and the
// plan that stays within so many bytes, or so much error.
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
#include "thaw/model.h"
#include "thaw/report.h"

namespace thaw {

// How far outputs are from what they were. Figures of an output y beside the float32 model's x, over all elements of one
// sample; of several outputs the mean.
enum class ErrorMetric : uint8_t {
  kMse,     // sum (x - y)^2 / elements
  kCosine,  // 1 - x.y / (|x| |y|)
  kKl,      // Kullback-Leibler divergence of softmax(y) from softmax(x) over the last axis, mean over the others; nats
  kSqnr,    // 10 log10(sum x^2 / sum (x - y)^2), in dB: the only one of which more is better
};

struct ErrorFigures {
  double mse = 0, cosine = 0, kl = 0;
  double noise = 0;  // sum (x - y)^2 / sum x^2, mean over outputs: sqnr is -10 log10 of it
};
THAW_API double figure_of(const ErrorFigures& figures, ErrorMetric metric);

// A mean over samples and its 95 % interval, by a percentile bootstrap (Efron 1979) from the seed. Of kSqnr: the figure of
// the mean noise.
struct Estimate {
  double mean = 0, low = 0, high = 0;
};

enum class SensitivityMode : uint8_t {
  kExact,  // every node is measured
  kFast,   // predicted from what it does to the values behind it; the worst and the doubtful are measured
};
enum class SensitivityGroup : uint8_t {
  kNode,
  kAttention,  // the projections to q, k and v of one attention together
  kLayer,      // what names of nodes show to be one layer: "/model/layers.3/…"
};

struct SensitivityOptions {
  std::vector<PrecisionOptions> precisions = {{.to = NumberFormat::kInt8Blocks}};  // each node in each
  std::filesystem::path data = {};        // samples, as ConvertOptions has them; needed
  std::vector<std::string> fed = {};      // how the files of `data` became inputs, for the report to say; empty: arrays
  std::vector<std::string> outputs = {};  // that are compared; empty: all of floats
  std::vector<std::string> keep = {};     // patterns of nodes that are not touched, as ConvertOptions has them
  ErrorMetric metric = ErrorMetric::kMse;  // that nodes are ranked by; all are measured
  SensitivityMode mode = SensitivityMode::kExact;
  // kFast measures every node as kExact does, but one out, where that costs fewer floating-point operations for each: there it would
  // take as long.
  double exact_below = 3e9;
  SensitivityGroup group = SensitivityGroup::kNode;
  bool one_out = true;  // each node is measured in the converted model too; of kExact
  OptimizeTarget target = OptimizeTarget::kPortable;
  bool optimize = true;              // first, as `optimize` does
  uint64_t max_memory = 1ULL << 30;  // bytes of activations that are kept in memory; the rest goes to the disk
  uint64_t seed = 0;
  // Of `shards` machines this is number `shard`, from 0: it measures every shards-th node.
  size_t shard = 0, shards = 1;
  std::filesystem::path journal = {};  // a file of what was measured, a line each; empty: none is kept
  bool resume = false;                 // what stands there of this very run is not measured again
  std::function<void(uint64_t done, uint64_t total)> progress = {};  // in runs of nodes, as they are reckoned
};

enum class UnitStatus : uint8_t { kMeasured, kPredicted, kFailed };

// One node, or several that go together, in one precision.
struct UnitError {
  size_t unit = 0, precision = 0;  // indices into the report's lists
  UnitStatus status = UnitStatus::kFailed;
  std::string why = {};                // it failed
  std::vector<ErrorFigures> in = {};   // a sample each: only it is converted
  std::vector<ErrorFigures> out = {};  // all but it are; empty where that was not measured
  int64_t bytes = 0;                   // by which constants shrink where only it is converted
};

struct SensitivityUnit {
  std::string name;                // of the first node
  std::vector<std::string> nodes;  // as a plan names them
  std::string op, layer, kind;     // "MatMul", "layers.3", "q_proj": as far as names tell
  uint64_t bytes = 0;              // of its constants, before
};

struct SensitivityReport {
  std::string model;  // path
  std::string data;
  std::vector<std::string> fed = {};  // how its files became inputs: options of `thaw inputs`, "--resize=height:48"
  std::string
      key;  // of the model's graph and weights, the samples and what was asked: equal where figures may be joined
  std::string model_key = {};          // of the graph and the weights alone: a plan is for this very model
  std::vector<std::string> kept = {};  // nodes that SensitivityOptions::keep names
  std::vector<PrecisionOptions> precisions;
  ErrorMetric metric = ErrorMetric::kMse;
  SensitivityMode mode = SensitivityMode::kExact;
  SensitivityGroup group = SensitivityGroup::kNode;
  OptimizeTarget target = OptimizeTarget::kPortable;
  bool optimize = true;
  uint64_t seed = 0;
  std::vector<std::string> samples, outputs;
  std::vector<SensitivityUnit> units;             // in the model's order
  std::vector<UnitError> errors;                  // by unit, then by precision; of other shards none
  std::vector<std::vector<ErrorFigures>> all_in;  // by precision: all that can be is converted, a sample each
  std::vector<int64_t> all_bytes;                 // by precision: by which constants shrink then
  uint64_t weights = 0;                           // bytes of all constants, before
  size_t measured = 0, predicted = 0, failed = 0;

  bool accepted() const { return measured + predicted > 0; }  // something is known
};

// Of a unit's figures. Two or more samples are needed for an interval: of one it is the figure itself.
THAW_API Estimate estimate(const std::vector<ErrorFigures>& samples, ErrorMetric metric, uint64_t seed);

// `folder`: where the report is written (write_report), with a journal of what is measured; empty: nowhere.
// Throws thaw::Error (kInvalidArgument) without samples, for samples that the model does not run on, and for outputs that it
// does not have; (kRuntimeFailed) where the model itself does not run.
THAW_API SensitivityReport sensitivity(const Model& model, const SensitivityOptions& options,
                                       const std::filesystem::path& folder = {});

// One report of several shards of one run. Throws thaw::Error (kInvalidArgument) where their keys differ, where one measured what
// another did and found another figure, and where a node is in none of them. The second reads them of folders and writes to one.
THAW_API SensitivityReport merge(const std::vector<SensitivityReport>& shards);
THAW_API SensitivityReport merge_reports(const std::vector<std::filesystem::path>& folders,
                                         const std::filesystem::path& folder);

struct PlanOptions {
  // One of them is given.
  std::optional<uint64_t> max_bytes = {};  // of all constants
  std::optional<double> max_error = {};    // predicted, of the report's metric
  std::optional<double> min_sqnr = {};     // predicted, in dB
};

struct MixedPlan {
  std::vector<std::optional<size_t>> precisions;  // by unit: an index into the report's precisions; none: as it is
  uint64_t bytes = 0;                             // of all constants, as predicted
  ErrorFigures predicted;                         // sums of the units': errors of small changes add up
  // One precision for all that `convert --to` converts to it; `predicted` is what the report measured of that.
  std::optional<size_t> uniform = {};
};

// The assignment of least error within the bytes, or of fewest bytes within the error; one precision for all is among them. Units that
// failed stay as they are.
// Throws thaw::Error (kInvalidArgument) where none is within, naming the least there is.
THAW_API MixedPlan plan(const SensitivityReport& report, const PlanOptions& options);

// As JSON that `convert` reads.
THAW_API std::string plan_json(const SensitivityReport& report, const MixedPlan& plan);

// What a plan does, run: the report's model converted, beside itself, on samples.
struct MeasuredPlan {
  uint64_t bytes = 0;                 // of all constants
  std::vector<ErrorFigures> figures;  // a sample each
};
// `data`: samples as SensitivityOptions has them; empty: those of the report. Throws thaw::Error as sensitivity() does, and
// (kInvalidArgument) where the model is not the one that the report is of.
THAW_API MeasuredPlan measure(const Model& model, const SensitivityReport& report, const MixedPlan& plan,
                              const std::filesystem::path& data = {});

// The plan that is best once it has run, of all that are within the options.
struct BestPlanOptions {
  PlanOptions within = {};
  std::filesystem::path model = {};   // where it is now; empty: where the report says
  std::filesystem::path data = {};    // samples to measure it on; empty: those of the report
  std::vector<std::string> fed = {};  // as SensitivityOptions has it; empty: as the report says
  bool check = true;                  // it is measured; else the report's predictions decide, and nothing is run
  std::filesystem::path report = {};  // the report's folder, whose page is drawn anew with the plan in it; empty: none
};
struct PlanReport {
  MixedPlan plan;
  std::optional<MeasuredPlan> measured = {};
  std::string warning = {};  // what was asked for does not hold once the plan has run; empty: it does
  std::string output = {};   // the file that was written

  bool accepted() const { return true; }  // a plan that is not within its limits is none: it is thrown
};
// `output`: a file for the plan, as `convert` reads it; empty: none is written. Throws as plan() and measure() do.
THAW_API PlanReport best_plan(const SensitivityReport& report, const BestPlanOptions& options,
                              const std::filesystem::path& output = {});

THAW_API std::string to_json(const SensitivityReport& report);
THAW_API std::string to_text(const SensitivityReport& report, const TextOptions& how = {});
THAW_API std::string to_html(const SensitivityReport& report);
THAW_API std::string to_json(const PlanReport& plan, const SensitivityReport& report);
THAW_API std::string to_text(const PlanReport& plan, const SensitivityReport& report);

// A report as files in a folder: report.json, errors.csv, and report.html for people, with a plan drawn in where one is given.
// read_report() reads the first. They throw thaw::Error where a file cannot be written or read, or is none of ours.
THAW_API void write_report(const SensitivityReport& report, const std::filesystem::path& folder,
                           const MixedPlan* plan = nullptr, const MeasuredPlan* measured = nullptr);
THAW_API SensitivityReport read_report(const std::filesystem::path& folder);

}  // namespace thaw
