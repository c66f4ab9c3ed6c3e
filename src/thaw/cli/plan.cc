// thaw plan: each node's precision, from what `thaw sensitivity` measured.
#include <filesystem>
#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/sensitivity.h"

namespace thaw::cli {
namespace {

struct PlanArguments {
  std::string report, output, model, data;
  PlanOptions within;
  bool no_check = false;
  Format format = Format::kText;
};

int make_plan(const PlanArguments& arguments, std::vector<std::string> fed) {
  const SensitivityReport report = read_report(arguments.report);
  const BestPlanOptions how{
      .within = arguments.within,
      .model = arguments.model,
      .data = arguments.data,
      .fed = std::move(fed),
      .check = !arguments.no_check,
      .report = std::filesystem::is_directory(arguments.report) ? arguments.report : std::string()};
  const PlanReport plan = best_plan(report, how, arguments.output);
  write_output(arguments.format == Format::kJson ? to_json(plan, report) : to_text(plan, report));
  return plan.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_plan(Options& options) {
  auto arguments = std::make_shared<PlanArguments>();
  options.argument("REPORT", arguments->report, "FOLDER", "the folder that `thaw sensitivity` wrote");
  options.required("-o,--output", arguments->output, "FILE", "the plan to write, for `thaw convert --plan`");
  options.size(
      "--max-bytes", [arguments](uint64_t bytes) { arguments->within.max_bytes = bytes; }, "BYTES",
      "of all weights: the plan of least error within them");
  options.value("--max-error", arguments->within.max_error, "ERROR",
                "of the report's metric: the plan of fewest bytes that is predicted to stay within it", kTolerance);
  options.value("--target-sqnr", arguments->within.min_sqnr, "DB", "the same, as a least signal to noise in dB",
                Bounds{-1000, 1000});
  options.value("--model", arguments->model, "FILE", "where the model is now (where the report says)");
  options.value("--data", arguments->data, "PATH", "samples to measure the plan on (those of the report)");
  add_feed_words(options);
  options.flag("--no-check", arguments->no_check, "do not measure the plan");
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw plan report/ --max-bytes 400MB -o plan.json\n"
      "thaw plan report/ --target-sqnr 30 -o plan.json --data held_out/\n"
      "thaw convert model.onnx -o mixed.onnx --plan plan.json");
  return [arguments, &options] { return make_plan(*arguments, given_feed_words(options)); };
}

}  // namespace thaw::cli
