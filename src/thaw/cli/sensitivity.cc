// thaw sensitivity: which nodes may lose precision, measured.
#include "thaw/sensitivity.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/core/type_word.h"
#include "thaw/defaults.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kSensitivityName = "sensitivity";

struct SensitivityArguments {
  std::string model, output, data, shard;
  std::string target;  // empty: none was asked for
  std::vector<std::string> reports, to{"int8-blocks"};
  bool only_in = false, no_optimize = false, dry_run = false;
  PrecisionOptions precision;
  PromptArguments prompts;
  SensitivityOptions how;
  Format format = Format::kText;
};

constexpr std::string_view kMerge = "merge";

std::vector<PrecisionOptions> precisions_of(const SensitivityArguments& arguments, const Options& options) {
  std::vector<PrecisionOptions> precisions;
  for (const std::string& name : arguments.to) {
    const auto at =
        std::ranges::find(number_formats(), type_word(name), &std::pair<std::string_view, NumberFormat>::first);
    if (at == number_formats().end()) {
      std::vector<std::string_view> known;
      for (const auto& [word, format] : number_formats()) known.push_back(word);
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' is no precision{}", name, did_you_mean(name, known)),
                   .where = "--to",
                   .expected = "int8, int8-blocks, int4, int3, int2, f16 or bf16, or several of them"});
    }
    PrecisionOptions& precision = precisions.emplace_back(arguments.precision);
    precision.to = at->second;
    fit(options, precision, arguments.target);
  }
  return precisions;
}

void read_shard(const std::string& text, SensitivityOptions& how) {
  if (text.empty()) return;
  size_t shard = 0, shards = 0;
  char slash = 0, rest = 0;
  const int read = std::sscanf(text.c_str(), "%zu%c%zu%c", &shard, &slash, &shards, &rest);
  if (read != 3 || slash != '/' || shard < 1 || shard > shards)
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("'{}' is no shard", text),
                                              .where = "--shard",
                                              .expected = "1/4, 2/4, …: which of how many"});
  how.shard = shard - 1;
  how.shards = shards;
}

int finish(const SensitivityReport& report, const SensitivityArguments& arguments, const std::string& output) {
  print(report, arguments.format);
  if (arguments.format == Format::kText && !output.empty())
    write_output(fmt::format("wrote {}\n", report::printable(output)));
  return report.accepted() ? kFine : kFindings;
}

// Where none is named; --resume goes on in the one that is there. Of a dry run none.
std::string folder_of_report(const SensitivityArguments& arguments) {
  if (arguments.dry_run) return {};
  if (!arguments.output.empty()) return arguments.output;
  if (!arguments.how.resume)
    return default_path(arguments.model, kSensitivityName, "name another with -o, or go on in it with --resume");
  const std::filesystem::path model(arguments.model);
  return (model.parent_path() / fmt::format("{}.{}", model.stem().string(), kSensitivityName)).string();
}

bool is_folder(const SensitivityArguments& arguments) {
  std::error_code failed;
  return std::filesystem::is_directory(arguments.model, failed);
}

SensitivityReport measured(const SensitivityArguments& arguments, SensitivityOptions how, const std::string& output,
                           const Options& options) {
  if (is_folder(arguments)) {
    how.prompts = arguments.prompts.prompt_options(options);
    return sensitivity(std::filesystem::path(arguments.model), how, output);
  }
  if (arguments.prompts.any())
    throw Error(ErrorCode::kInvalidArgument, {.what = "prompts are for the folder of a built checkpoint",
                                              .where = arguments.model,
                                              .expected = "a folder that `thaw build --kv-cache` wrote"});
  how.preprocessing = given_preprocessing(options);
  return sensitivity(until_exit(Model::load(arguments.model)), how, output);
}

int measure_model(const SensitivityArguments& arguments, const Options& options) {
  if (!arguments.reports.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("unexpected argument '{}'", arguments.reports.front()),
                 .where = "thaw sensitivity",
                 .expected = "one model, or the word merge and folders of reports"});
  SensitivityOptions how = arguments.how;
  how.precisions = precisions_of(arguments, options);
  if (!arguments.target.empty()) set_target(arguments.target, how);
  how.data = arguments.data;
  how.one_out = !arguments.only_in;
  how.optimize = !arguments.no_optimize;
  read_shard(arguments.shard, how);
  const std::string output = folder_of_report(arguments);
  ProgressLine line("measuring");
  how.progress = [&](uint64_t done, uint64_t total) { line.show(done, total); };
  if (!options.given("--metric")) how.metric = default_metric(is_folder(arguments));
  const SensitivityReport report = measured(arguments, how, output, options);
  line.clear();
  return finish(report, arguments, output);
}

void add_what(Options& options, SensitivityArguments& arguments) {
  options.heading("Calibration");
  options.value("--data", arguments.data, "PATH",
                "samples: .npz files of inputs by name; with --for or --resize images or recordings");
  options.heading("Precision");
  options.list("--to", arguments.to, "FORMAT,…",
               "the precisions to try: int8, int8-blocks, int4, int3, int2, f16, bf16 (int8-blocks)");
  options.list("--keep", arguments.how.keep, "PATTERN,…", "nodes to leave unchanged, by name or operator: '*lm_head*'");
  add_targets(options, arguments.target, "the backend whose operators and forms the result may have (portable)");
  options.flag("--no-optimize", arguments.no_optimize, "do not run `thaw optimize` first");
}

void add_how(Options& options, SensitivityArguments& arguments) {
  options.heading("Measurement");
  options.list("--outputs", arguments.how.outputs, "NAME,…", "the outputs to compare (all of floats)");
  options.choice<ErrorMetric>("--metric", arguments.how.metric,
                              {{"mse", ErrorMetric::kMse},
                               {"cosine", ErrorMetric::kCosine},
                               {"kl", ErrorMetric::kKl},
                               {"sqnr", ErrorMetric::kSqnr}},
                              "the metric to rank nodes by; all four are reported (mse; of a folder kl)");
  options.choice<SensitivityMode>("--mode", arguments.how.mode,
                                  {{"exact", SensitivityMode::kExact}, {"fast", SensitivityMode::kFast}},
                                  "measure every node, or predict and measure only the worst (exact)");
  options.value("--exact-below", arguments.how.exact_below, "FLOPS",
                "fast: measure every node where each takes fewer operations (3e9)", Bounds{0, 1e300});
  options.choice<SensitivityGroup>(
      "--group", arguments.how.group,
      {{"node", SensitivityGroup::kNode},
       {"attention", SensitivityGroup::kAttention},
       {"layer", SensitivityGroup::kLayer}},
      "what to measure together: a node, the q, k and v of an attention, or a layer (node)");
  options.flag("--only-in", arguments.only_in,
               "measure each node in the original only, not in the converted model too");
  options.value("--seed", arguments.how.seed, "N", "the seed of the intervals' resampling (0)");
  options.flag("--resume", arguments.how.resume, "go on with what the folder has of this run");
  options.value("--shard", arguments.shard, "I/N",
                "measure every N-th node, from the I-th; `merge` puts the reports together");
}

}  // namespace

Action define_sensitivity(Options& options) {
  auto arguments = std::make_shared<SensitivityArguments>();
  options.use("Use it before a mixed-precision model: it ranks nodes by the error that each costs.");
  add_model(
      options, arguments->model, "MODEL",
      "the ONNX file, or a folder that `thaw build --kv-cache` wrote; or the word merge, before folders of reports");
  options.arguments("REPORT", arguments->reports, "FOLDER", "of merge: the folders that the shards wrote", false);
  add_what(options, *arguments);
  add_prompts(options, arguments->prompts);
  add_how(options, *arguments);
  add_int8(options, arguments->precision.int8);
  add_blocks(options, arguments->precision.blocks, true);
  add_preprocessing(options);
  add_output(options, arguments->output, kSensitivityName, "FOLDER");
  add_dry_run(options, arguments->dry_run);
  add_format(options, arguments->format);
  add_limits(options);
  rename_preprocessing(options);
  options.renamed("--output-names", "--outputs");
  options.common({"--output", "--data", "--to", "--metric", "--mode", "--group", "--for", "--resume"});
  options.examples(
      "thaw sensitivity model.onnx --data samples/ --to int8,int4 -o report/\n"
      "thaw sensitivity onnx/ --to int4,int8-blocks --image photos/ --prompt 'What is this?' -o report/\n"
      "thaw sensitivity merge shard1/ shard2/ shard3/ shard4/ -o report/");
  return [arguments, &options] {
    if (arguments->model != kMerge) return measure_model(*arguments, options);
    if (arguments->output.empty() && !arguments->dry_run)
      throw Error(ErrorCode::kInvalidArgument,
                  {"no folder for the merged report is given", "thaw sensitivity merge", "-o FOLDER", "name it"});
    const std::string output = arguments->dry_run ? std::string() : arguments->output;
    return finish(merge_reports({arguments->reports.begin(), arguments->reports.end()}, output), *arguments, output);
  };
}

}  // namespace thaw::cli
