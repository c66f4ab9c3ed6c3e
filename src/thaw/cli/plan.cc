// thaw plan: each node's precision, from what `thaw sensitivity` measured.
#include "thaw/sensitivity/plan.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "thaw/cli/feed_options.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/sensitivity_text.h"
#include "thaw/cli/size_option.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/quant/precisions.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/table.h"
#include "thaw/sensitivity.h"
#include "thaw/sensitivity/best_plan.h"
#include "thaw/sensitivity/figures.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw::cli {
namespace {

struct PlanArguments {
  std::string report, output, model, data;
  PlanOptions within;
  InputsOptions feed;
  bool no_check = false;
  Format format = Format::kText;
};

// "24 int4, 3 int8-blocks, 1 as it is".
std::string shares(const SensitivityReport& report, const MixedPlan& plan) {
  std::vector<size_t> counts(report.precisions.size() + 1);
  for (const std::optional<size_t>& precision : plan.precisions) ++counts[precision.value_or(report.precisions.size())];
  std::string text;
  for (size_t p = 0; p < counts.size(); ++p) {
    if (counts[p] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[p],
                        p < report.precisions.size() ? quantizing::name_of(report.precisions[p].to) : "as it is");
  }
  return text;
}

std::string plan_table(const MixedPlan& plan, const std::optional<MeasuredPlan>& measured) {
  report::Table table;
  table.add({"", "predicted", measured ? "measured" : ""});
  table.add({"bytes of weights", megabytes(static_cast<double>(plan.bytes)),
             measured ? megabytes(static_cast<double>(measured->bytes)) : ""});
  for (const ErrorMetric metric : {ErrorMetric::kMse, ErrorMetric::kCosine, ErrorMetric::kKl, ErrorMetric::kSqnr})
    table.add({std::string(measuring::word_of(metric)), figure_text(figure_of(plan.predicted, metric), metric),
               measured ? figure_text(measuring::mean_figure(measured->figures, metric), metric) : ""});
  return table.text();
}

std::string plan_report_json(const SensitivityReport& report, const MixedPlan& plan,
                             const std::optional<MeasuredPlan>& measured, const std::string& warning,
                             const std::string& output) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("output", output);
  const auto add = [&](std::string_view name, uint64_t bytes, const std::vector<ErrorFigures>& figures) {
    json.member_object(name);
    json.member("bytes", bytes);
    for (const ErrorMetric metric : {ErrorMetric::kMse, ErrorMetric::kCosine, ErrorMetric::kKl, ErrorMetric::kSqnr})
      json.member(measuring::word_of(metric), measuring::mean_figure(figures, metric));
    json.end_object();
  };
  add("predicted", plan.bytes, {plan.predicted});
  if (measured) add("measured", measured->bytes, measured->figures);
  if (!warning.empty()) json.member("warning", warning);
  json.member_object("units");
  for (size_t unit = 0; unit < report.units.size(); ++unit)
    json.member(report.units[unit].name,
                plan.precisions[unit] ? quantizing::name_of(report.precisions[*plan.precisions[unit]].to) : "keep");
  json.end_object();
  json.end_object();
  return text + "\n";
}

// Where what was asked for does not hold once the plan has run; else empty.
std::string over_limit(const SensitivityReport& report, const PlanOptions& within, const MeasuredPlan& measured) {
  if (within.max_bytes && measured.bytes > *within.max_bytes)
    return fmt::format("the plan takes {} bytes, more than the {} that it is to stay within", measured.bytes,
                       *within.max_bytes);
  if (within.max_error)
    if (const double error = measuring::mean_figure(measured.figures, report.metric); error > *within.max_error)
      return fmt::format(
          "the error measured, {:.3g}, is above the {:.3g} that the plan is to stay within: errors add up to "
          "more than predicted; ask for less",
          error, *within.max_error);
  if (within.min_sqnr)
    if (const double sqnr = measuring::mean_figure(measured.figures, ErrorMetric::kSqnr); sqnr < *within.min_sqnr)
      return fmt::format(
          "the signal to noise measured, {:.3g} dB, is below the {:.3g} dB that are asked for: errors add up to "
          "more than predicted; ask for more",
          sqnr, *within.min_sqnr);
  return {};
}

int make_plan(const PlanArguments& options, const CLI::App& app) {
  const SensitivityReport report = read_report(options.report);
  const PlanOptions& within = options.within;
  MixedPlan chosen;
  std::optional<MeasuredPlan> measured;
  std::string warning;
  if (options.no_check) {
    chosen = measuring::plan(report, within);
  } else {
    const ir::Model& model = *until_exit(ir::load(options.model.empty() ? report.model : options.model));
    measuring::BestPlan best =
        measuring::best_plan(model, report, within, options.data, open_fed(app, options.feed, report.fed, model));
    chosen = std::move(best.plan);
    measured = std::move(best.measured);
    warning = over_limit(report, within, *measured);
  }
  write_whole(options.output, plan_json(report, chosen));
  if (std::filesystem::is_directory(options.report))
    write_report(report, options.report, &chosen, measured ? &*measured : nullptr);
  write_output(options.format == Format::kJson
                   ? plan_report_json(report, chosen, measured, warning, options.output)
                   : fmt::format("{}\n{}{}wrote {}\n", shares(report, chosen), plan_table(chosen, measured),
                                 warning.empty() ? "" : fmt::format("warning: {}\n", warning), options.output));
  return kFine;
}

}  // namespace

Action define_plan(CLI::App& app) {
  auto options = std::make_shared<PlanArguments>();
  app.add_option("REPORT", options->report, "the folder that `thaw sensitivity` wrote")
      ->type_name("FOLDER")
      ->required();
  app.add_option("-o,--output", options->output, "the plan to write, for `thaw convert --plan`")
      ->type_name("FILE")
      ->required();
  add_size(
      app, "--max-bytes", [options](uint64_t bytes) { options->within.max_bytes = bytes; }, "BYTES",
      "of all weights: the plan of least error within them");
  app.add_option("--max-error", options->within.max_error,
                 "of the report's metric: the plan of fewest bytes that is predicted to stay within it")
      ->type_name("ERROR");
  app.add_option("--target-sqnr", options->within.min_sqnr, "the same, as a least signal to noise in dB")
      ->type_name("DB");
  app.add_option("--model", options->model, "where the model is now (where the report says)")->type_name("FILE");
  app.add_option("--data", options->data, "samples to measure the plan on (those of the report)")->type_name("PATH");
  add_feed_options(app, options->feed);
  app.add_flag("--no-check", options->no_check, "do not measure the plan");
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw plan report/ --max-bytes 400MB -o plan.json\n"
      "thaw plan report/ --target-sqnr 30 -o plan.json --data held_out/\n"
      "thaw convert model.onnx -o mixed.onnx --plan plan.json");
  return [options, &app] { return make_plan(*options, app); };
}

}  // namespace thaw::cli
