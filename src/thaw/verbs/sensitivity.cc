#include "thaw/sensitivity.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "thaw/core/atomic_file.h"
#include "thaw/core/call_clock.h"
#include "thaw/core/error.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/new_folder.h"
#include "thaw/core/read_files.h"
#include "thaw/core/replace_files.h"
#include "thaw/limits.h"
#include "thaw/quant/plan_file.h"
#include "thaw/report/sensitivity_page.h"
#include "thaw/run/providers.h"
#include "thaw/sensitivity/best_plan.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/folder.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/part_plan.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/plan_formats.h"
#include "thaw/sensitivity/report_file.h"
#include "thaw/sensitivity/run_key.h"
#include "thaw/verbs/access.h"
#include "thaw/verbs/samples.h"

namespace thaw {
namespace {

constexpr const char* kReportFile = "report.json";

// How --data becomes samples: as the call says, else as a report says that its own did.
quantizing::OpenSamples opened_as(std::span<const std::string> called, std::span<const std::string> reported,
                                  const ir::Model& model) {
  if (!called.empty())
    return [called, &model](const std::filesystem::path& path) { return verbs::open_samples(path, called, model); };
  if (reported.empty()) return {};
  return [reported, &model](const std::filesystem::path& path) { return verbs::open_reported(path, reported, model); };
}

// Where figures of one do not predict the other's; else empty.
std::string other_runtime(const Runtime& reported, const Runtime& measured) {
  if (reported.version.empty() || run::describe(reported) == run::describe(measured)) return {};
  return fmt::format("the plan was measured on {}, and the report's nodes on {}: kernels round otherwise",
                     run::describe(measured), run::describe(reported));
}

std::string both(std::string first, const std::string& second) {
  if (!first.empty() && !second.empty()) first += "; ";
  return first + second;
}

// Where what was asked for does not hold once the plan has run; else empty.
std::string over_limit(const SensitivityReport& report, const PlanOptions& within, const MeasuredPlan& measured) {
  if (within.max_bytes && measured.bytes > *within.max_bytes)
    return fmt::format("the plan takes {} bytes, above the limit of {}", measured.bytes, *within.max_bytes);
  if (within.max_error)
    if (const double error = measuring::mean_figure(measured.figures, report.metric); error > *within.max_error)
      return fmt::format(
          "the measured error {:.3g} exceeds the limit {:.3g}, as errors add up to more than predicted; give a lower "
          "limit",
          error, *within.max_error);
  if (within.min_sqnr)
    if (const double sqnr = measuring::mean_figure(measured.figures, ErrorMetric::kSqnr); sqnr < *within.min_sqnr)
      return fmt::format(
          "the measured SQNR {:.3g} dB is below the target {:.3g} dB, as errors add up to more than predicted; give a "
          "higher target",
          sqnr, *within.min_sqnr);
  return {};
}

// Other tools quantize one model at a time.
void require_one_model(const SensitivityReport& report) {
  if (report.parts.empty()) return;
  throw Error(ErrorCode::kUnsupported,
              {.what = "the plan is for the models of a folder, and other tools quantize one model at a time",
               .where = "--file-format",
               .expected = "the report of one of the models",
               .next = "call best_plan, which writes a file for each model"});
}

// What a report is of, to be measured again: a model, or the models of a folder as one.
struct Measured {
  std::unique_ptr<ir::Model> model;
  SensitivityReport report;  // as measuring::measure made it
  quantizing::OpenSamples open;
};

Measured open_measured(const SensitivityReport& report, const BestPlanOptions& options) {
  const std::filesystem::path path = options.model.empty() ? std::filesystem::path(report.model) : options.model;
  Measured measured{nullptr, report, {}};
  if (report.parts.empty()) {
    measured.model = ir::load(path);
    measured.open = opened_as(options.preprocessing, report.preprocessing, *measured.model);
    return measured;
  }
  const measuring::FolderOptions how{report.precisions, report.target, report.backend, report.optimize};
  measured.model = measuring::open_folder(path, report.prompts, how).model;
  measured.report.optimize = false;  // each part was by itself
  // Samples of the report are asked for by its own path, which names none.
  measured.open = [path, own = report.prompts, other = options.prompts](const std::filesystem::path& data) {
    PromptOptions prompts = data.empty() || !other.any() ? own : other;
    if (prompts.checkpoint.empty()) prompts.checkpoint = own.checkpoint;
    return measuring::open_prompts(path, prompts);
  };
  return measured;
}

// As --file-format says. The nodes of other tools' files are looked up in the model, also where it is not run.
measuring::PlanFile file_of(const SensitivityReport& report, const MixedPlan& plan, const BestPlanOptions& options,
                            const ir::Model* opened) {
  if (options.format == PlanFormat::kThaw) return {plan_json(report, plan), {}};
  if (opened) return measuring::plan_file(measuring::plan_nodes(*opened, report, plan), options.format);
  const auto model = ir::load(options.model.empty() ? std::filesystem::path(report.model) : options.model);
  return measuring::plan_file(measuring::plan_nodes(*model, report, plan), options.format);
}

// Other tools quantize one model at a time: of a folder a file for each model that has units, PART.json in `output`.
std::string write_for_parts(const SensitivityReport& report, const MixedPlan& plan, const BestPlanOptions& options,
                            const ir::Model* opened, const std::filesystem::path& output) {
  const std::filesystem::path folder =
      options.model.empty() ? std::filesystem::path(report.model) : std::filesystem::path(options.model);
  if (!opened) {
    const measuring::FolderOptions how{report.precisions, report.target, report.backend, report.optimize};
    measuring::require_measured(*measuring::open_folder(folder, report.prompts, how).model, report);
  }
  std::string warnings;
  std::vector<std::pair<std::filesystem::path, std::string>> files;
  for (const std::string& part : report.parts) {
    const measuring::PartPlan own = measuring::part_plan(report, plan, part);
    if (own.report.units.empty()) continue;
    const auto model = ir::load(folder / (part + ".onnx"));
    measuring::PlanFile file =
        measuring::plan_file(measuring::plan_nodes(*model, own.report, own.plan), options.format);
    for (const std::string& warning : file.warnings)
      warnings = both(std::move(warnings), fmt::format("{}: {}", part, warning));
    files.emplace_back(output / (part + ".json"), std::move(file.text));
  }
  if (output.empty()) return warnings;
  make_folder(output);
  for (const auto& [path, text] : files) write_whole(path, text);
  return warnings;
}

}  // namespace

SensitivityReport sensitivity(const Model& model, const SensitivityOptions& options,
                              const std::filesystem::path& folder) {
  const CallClock clock;
  const ir::Model& given = ModelAccess::begin(model);
  SensitivityOptions how = options;
  // Of the limit, half is for activations; the rest is ONNX Runtime's.
  if (limits().max_memory > 0) how.max_memory = limits().max_memory / 2;
  const NewFolder made(folder);
  if (!folder.empty() && how.journal.empty()) how.journal = folder / "measured.jsonl";
  SensitivityReport report = measuring::measure(given, how, opened_as(how.preprocessing, {}, given));
  if (!folder.empty()) write_report(report, folder);
  return report;
}

SensitivityReport sensitivity(const std::filesystem::path& models, const SensitivityOptions& options,
                              const std::filesystem::path& folder) {
  const CallClock clock;
  const ReadFiles reading;
  if (!options.data.empty() || !options.preprocessing.empty())
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = "samples are given for the inputs of one model",
         .where = options.data.empty() ? "--for, --resize" : "--data",
         .expected = "--prompt or --tokens, and --image or --audio: " + models.string() + " is a folder of models"});
  SensitivityOptions how = options;
  if (limits().max_memory > 0) how.max_memory = limits().max_memory / 2;
  const NewFolder made(folder);
  if (!folder.empty() && how.journal.empty()) how.journal = folder / "measured.jsonl";
  const measuring::OpenedFolder opened =
      measuring::open_folder(models, how.prompts, {how.precisions, how.target, how.backend, how.optimize});
  how.optimize = false;
  SensitivityReport report = measuring::measure(
      *opened.model, how,
      [&](const std::filesystem::path&) { return measuring::open_prompts(models, options.prompts); }, opened.parts);
  report.model = models.string();
  report.optimize = options.optimize;
  if (!folder.empty()) write_report(report, folder);
  return report;
}

void set_target(const std::string& name, SensitivityOptions& options) {
  OptimizeOptions chosen;
  set_target(name, chosen);
  options.target = chosen.target;
  options.backend = chosen.backend;
}

SensitivityReport merge(const std::vector<SensitivityReport>& shards) { return measuring::merge(shards); }

SensitivityReport merge_reports(const std::vector<std::filesystem::path>& folders,
                                const std::filesystem::path& folder) {
  const ReadFiles reading;
  std::vector<SensitivityReport> shards;
  std::vector<std::string> names;
  for (const std::filesystem::path& shard : folders) {
    shards.push_back(read_report(shard));
    names.push_back(shard.string());
  }
  SensitivityReport report = measuring::merge(shards, names);
  if (!folder.empty()) write_report(report, folder);
  return report;
}

MixedPlan plan(const SensitivityReport& report, const PlanOptions& options) { return measuring::plan(report, options); }

std::string plan_json(const SensitivityReport& report, const MixedPlan& plan) {
  if (!report.parts.empty()) return quantizing::plan_text(measuring::convert_options_of_parts(report, plan));
  return quantizing::plan_text(measuring::convert_options(report, plan));
}

std::string plan_json(const Model& model, const SensitivityReport& report, const MixedPlan& plan, PlanFormat format) {
  if (format == PlanFormat::kThaw) return plan_json(report, plan);
  require_one_model(report);
  return measuring::plan_file(measuring::plan_nodes(ModelAccess::begin(model), report, plan), format).text;
}

MeasuredPlan measure(const Model& model, const SensitivityReport& report, const MixedPlan& plan,
                     const std::filesystem::path& data) {
  const CallClock clock;
  const ir::Model& given = ModelAccess::begin(model);
  return measuring::measure_plan(given, report, plan, data, opened_as({}, report.preprocessing, given));
}

PlanReport best_plan(const SensitivityReport& report, const BestPlanOptions& options,
                     const std::filesystem::path& output) {
  const CallClock clock;
  const ReadFiles reading;
  ReadFiles::note(report.model);
  ReadFiles::note(options.model);
  PlanReport chosen;
  std::unique_ptr<ir::Model> model;
  if (options.check) {
    Measured measured = open_measured(report, options);
    // What is given to measure plans on, as a path of some samples: those of a folder are its prompts.
    const std::filesystem::path data = options.prompts.any() ? std::filesystem::path("prompts") : options.data;
    measuring::BestPlan best =
        measuring::best_plan(*measured.model, measured.report, options.within, data, measured.open);
    chosen.plan = std::move(best.plan);
    chosen.warning =
        both(over_limit(report, options.within, best.measured), other_runtime(report.runtime, best.measured.runtime));
    chosen.measured = std::move(best.measured);
    model = std::move(measured.model);
  } else {
    chosen.plan = measuring::plan(report, options.within);
  }
  if (options.format != PlanFormat::kThaw && !report.parts.empty()) {
    chosen.warning =
        both(std::move(chosen.warning), write_for_parts(report, chosen.plan, options, model.get(), output));
  } else if (!output.empty() || options.format != PlanFormat::kThaw) {
    const measuring::PlanFile file = file_of(report, chosen.plan, options, model.get());
    for (const std::string& warning : file.warnings) chosen.warning = both(std::move(chosen.warning), warning);
    if (!output.empty()) write_whole(output, file.text);
  }
  chosen.output = output.string();
  if (options.report.empty()) return chosen;
  ReadFiles::release(options.report / kReportFile);  // may be where the report is from
  write_report(report, options.report, &chosen.plan, chosen.measured ? &*chosen.measured : nullptr);
  return chosen;
}

void write_report(const SensitivityReport& report, const std::filesystem::path& folder, const MixedPlan* plan,
                  const MeasuredPlan* measured) {
  make_folder(folder);
  AtomicFile csv(folder / "errors.csv"), page(folder / "report.html"), json(folder / kReportFile);
  csv.write(measuring::report_csv(report));
  page.write(report::sensitivity_page(report, plan, measured));
  json.write(measuring::report_json(report));
  replace_files({.entries = {&csv, &page, &json}});
}

SensitivityReport read_report(const std::filesystem::path& folder) {
  const std::filesystem::path path = std::filesystem::is_directory(folder) ? folder / kReportFile : folder;
  if (!std::filesystem::exists(path))
    throw Error(
        ErrorCode::kCannotRead,
        {.what = "there is no report", .where = path.string(), .expected = "a folder that `thaw sensitivity` wrote"});
  const auto file = MappedFile::open(path);
  return measuring::parse_report(file->text(), path.string());
}

}  // namespace thaw
