// thaw plan: each node's precision, from what `thaw sensitivity` measured.
#include <filesystem>
#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/sensitivity.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kPlanName = "plan.json", kPlansName = "plans";

struct PlanArguments {
  std::string report, output, model, data;
  PlanOptions within;
  PlanFormat file_format = PlanFormat::kThaw;
  PromptArguments prompts;
  bool dry_run = false, no_check = false;
  Format format = Format::kText;
};

// The file of the plan, of other tools' plans for the models of a folder the folder; of a dry run none.
std::string plan_file(const PlanArguments& arguments, bool is_folder) {
  if (arguments.dry_run) return {};
  if (!arguments.output.empty()) return arguments.output;
  const bool are_several = is_folder && arguments.file_format != PlanFormat::kThaw;
  return default_path(arguments.report, are_several ? kPlansName : kPlanName);
}

// What a report's samples are not may be no samples of its plan either.
void require_kind(const SensitivityReport& report, const PlanArguments& arguments) {
  const bool is_folder = !report.parts.empty();
  if (is_folder ? arguments.data.empty() : !arguments.prompts.any()) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = is_folder ? "samples are given for the inputs of one model" : "prompts are given for one model",
               .where = is_folder ? "--data" : "--prompt",
               .expected = is_folder ? "--prompt or --tokens: the report is of a folder of models"
                                     : "--data: the report is of one model"});
}

int make_plan(const PlanArguments& arguments, const Options& options) {
  const SensitivityReport report = read_report(arguments.report);
  require_kind(report, arguments);
  const bool is_folder = !report.parts.empty();
  const BestPlanOptions how{.within = arguments.within,
                            .model = arguments.model,
                            .data = arguments.data,
                            .preprocessing = is_folder ? std::vector<std::string>() : given_preprocessing(options),
                            .prompts = is_folder ? arguments.prompts.prompt_options(options) : PromptOptions{},
                            .check = !arguments.no_check,
                            .format = arguments.file_format,
                            .report = !arguments.dry_run && std::filesystem::is_directory(arguments.report)
                                          ? arguments.report
                                          : std::string()};
  const PlanReport plan = best_plan(report, how, plan_file(arguments, is_folder));
  write_output(arguments.format == Format::kJson ? to_json(plan, report) : to_text(plan, report));
  return plan.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_plan(Options& options) {
  auto arguments = std::make_shared<PlanArguments>();
  options.use("Use it after `thaw sensitivity`, with the bytes or the error that the result may have.");
  options.argument("REPORT", arguments->report, "FOLDER", "the folder that `thaw sensitivity` wrote");
  options.heading("Budget");
  options.size(
      "--max-bytes", [arguments](uint64_t bytes) { arguments->within.max_bytes = bytes; }, "BYTES",
      "of all weights: the plan of least error within them");
  options.value("--max-error", arguments->within.max_error, "ERROR",
                "in the report's metric: the smallest plan whose predicted error is at most this", kTolerance);
  options.value("--target-sqnr", arguments->within.min_sqnr, "DB",
                "the smallest plan whose predicted SQNR is at least this many dB", Bounds{-1000, 1000});
  add_output(options, arguments->output, kPlanName);
  options.choice<PlanFormat>("--file-format", arguments->file_format,
                             {{"thaw", PlanFormat::kThaw},
                              {"ort", PlanFormat::kOrt},
                              {"olive", PlanFormat::kOlive},
                              {"inc", PlanFormat::kInc},
                              {"modelopt", PlanFormat::kModelopt}},
                             "what reads the file: `thaw convert`, or the quantizer of ONNX Runtime, Olive, Neural "
                             "Compressor 2 or NVIDIA ModelOpt (thaw)");
  add_dry_run(options, arguments->dry_run);
  options.heading("Check");
  options.flag("--no-check", arguments->no_check, "do not measure the plan");
  options.value("--model", arguments->model, "FILE", "the model, or the folder of models (where the report says)");
  options.value("--data", arguments->data, "PATH", "samples to measure the plan on (the report's)");
  add_prompts(options, arguments->prompts);
  add_preprocessing(options);
  add_format(options, arguments->format);
  add_limits(options);
  rename_preprocessing(options);
  options.common({"--output", "--max-bytes", "--max-error", "--target-sqnr", "--data", "--model", "--no-check"});
  options.examples(
      "thaw plan report/ --max-bytes 400MB -o plan.json\n"
      "thaw plan report/ --target-sqnr 30 -o plan.json --data held_out/\n"
      "thaw plan report/ --max-bytes 400MB --file-format ort -o for_ort.json");
  return [arguments, &options] { return make_plan(*arguments, options); };
}

}  // namespace thaw::cli
