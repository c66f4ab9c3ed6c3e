// thaw sensitivity: which nodes may lose precision, measured.
#include "thaw/sensitivity.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/block_options.h"
#include "thaw/cli/feed_options.h"
#include "thaw/cli/int8_options.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/progress_line.h"
#include "thaw/cli/sensitivity_text.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/atomic_file.h"
#include "thaw/core/error.h"
#include "thaw/limits.h"
#include "thaw/sensitivity/measure.h"
#include "thaw/sensitivity/plan.h"
#include "thaw/sensitivity/report_file.h"

namespace thaw::cli {
namespace {

struct SensitivityArguments {
  std::string model, output, data, shard;
  std::vector<std::string> reports, to{"int8-blocks"};
  bool only_in = false, no_optimize = false;
  PrecisionOptions precision;
  SensitivityOptions how;
  InputsOptions feed;
  Format format = Format::kText;
};

constexpr std::string_view kMerge = "merge";

std::vector<PrecisionOptions> precisions_of(const SensitivityArguments& options) {
  using enum NumberFormat;
  const std::vector<std::pair<std::string_view, NumberFormat>> words{
      {"f16", kFloat16}, {"bf16", kBfloat16},         {"int8", kInt8}, {"int4", kInt4}, {"int3", kInt3},
      {"int2", kInt2},   {"int8-blocks", kInt8Blocks}};
  std::vector<PrecisionOptions> precisions;
  for (const std::string& name : options.to) {
    const auto at = std::ranges::find(words, name, &std::pair<std::string_view, NumberFormat>::first);
    if (at == words.end()) {
      std::vector<std::string_view> known;
      for (const auto& [word, format] : words) known.push_back(word);
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' is no precision{}", name, did_you_mean(name, known)),
                   .where = "--to",
                   .expected = "int8, int8-blocks, int4, int3, int2, f16 or bf16, or several of them"});
    }
    PrecisionOptions& precision = precisions.emplace_back(options.precision);
    precision.to = at->second;
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

int finish(const SensitivityReport& report, const SensitivityArguments& options) {
  write_report(report, options.output);
  write_output(options.format == Format::kJson ? measuring::report_json(report)
                                               : sensitivity_text(report, options.output));
  return report.measured + report.predicted > 0 ? kFine : kFindings;
}

int merge_reports(const SensitivityArguments& options) {
  std::vector<SensitivityReport> shards;
  for (const std::string& folder : options.reports) shards.push_back(read_report(folder));
  return finish(measuring::merge(shards, options.reports), options);
}

int measure_model(const SensitivityArguments& options, const CLI::App& app) {
  if (!options.reports.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("unexpected argument '{}'", options.reports.front()),
                                              .where = "thaw sensitivity",
                                              .expected = "one model, or the word merge and folders of reports"});
  SensitivityOptions how = options.how;
  how.precisions = precisions_of(options);
  how.data = options.data;
  how.fed = feed_words(app);
  how.one_out = !options.only_in;
  how.optimize = !options.no_optimize;
  // Of --max-memory, half is for activations; the rest is ONNX Runtime's.
  if (limits().max_memory > 0) how.max_memory = limits().max_memory / 2;
  read_shard(options.shard, how);
  const ir::Model& model = *until_exit(ir::load(options.model));
  make_folder(options.output);
  how.journal = std::filesystem::path(options.output) / "measured.jsonl";
  ProgressLine line("measuring");
  how.progress = [&](uint64_t done, uint64_t total) { line.show(done, total); };
  const SensitivityReport report = measuring::measure(model, how, open_fed(app, options.feed, model));
  line.clear();
  return finish(report, options);
}

void add_what(CLI::App& app, SensitivityArguments& options) {
  app.add_option("--data", options.data, "samples: .npz files with the inputs by name; with --for images or recordings")
      ->type_name("PATH");
  add_list(app, "--to", options.to, "FORMAT,…",
           "int8, int8-blocks, int4, int3, int2, f16, bf16: each node in each (int8-blocks)");
  add_blocks(app, options.precision.blocks, true);
  add_int8(app, options.precision.int8);
  add_list(app, "--keep", options.how.keep, "PATTERN", "nodes that are not touched, by name, such as '*lm_head*'");
  add_list(app, "--output-names", options.how.outputs, "NAME,…", "outputs that are compared (all of floats)");
}

void add_how(CLI::App& app, SensitivityArguments& options) {
  add_choice<ErrorMetric>(app, "--metric", options.how.metric,
                          {{"mse", ErrorMetric::kMse},
                           {"cosine", ErrorMetric::kCosine},
                           {"kl", ErrorMetric::kKl},
                           {"sqnr", ErrorMetric::kSqnr}},
                          "that nodes are ranked by; all four are reported (mse)");
  add_choice<SensitivityMode>(app, "--mode", options.how.mode,
                              {{"exact", SensitivityMode::kExact}, {"fast", SensitivityMode::kFast}},
                              "measure every node, or predict and measure the worst (exact)");
  app.add_option("--exact-below", options.how.exact_below,
                 "fast: measure every node where that takes fewer floating-point operations for each (3e9)")
      ->type_name("FLOPS");
  add_choice<SensitivityGroup>(app, "--group", options.how.group,
                               {{"node", SensitivityGroup::kNode},
                                {"attention", SensitivityGroup::kAttention},
                                {"layer", SensitivityGroup::kLayer}},
                               "what is measured as one: nodes, with q, k and v together, or layers (node)");
  app.add_flag("--only-in", options.only_in, "do not measure each node in the converted model too");
  app.add_option("--seed", options.how.seed, "of the intervals' resampling (0)")->type_name("N");
  app.add_flag("--resume", options.how.resume, "do not measure again what the folder has of this very run");
  app.add_option("--shard", options.shard, "measure every N-th node alone, from the I-th; `merge` joins the reports")
      ->type_name("I/N");
  add_choice<OptimizeTarget>(
      app, "--target", options.how.target,
      {{"portable", OptimizeTarget::kPortable}, {"ort", OptimizeTarget::kOrt}, {"directml", OptimizeTarget::kDirectml}},
      "whose operators the converted model may have (portable)");
  app.add_flag("--no-optimize", options.no_optimize, "do not run `thaw optimize` on it first");
}

}  // namespace

Action define_sensitivity(CLI::App& app) {
  auto options = std::make_shared<SensitivityArguments>();
  add_model(app, options->model, "MODEL", "the ONNX file; or the word merge, before folders of reports");
  app.add_option("REPORT", options->reports, "folders of reports that shards wrote, to merge")->type_name("FOLDER");
  app.add_option("-o,--output", options->output, "the folder to write")->type_name("FOLDER")->required();
  add_what(app, *options);
  add_how(app, *options);
  add_feed_options(app, options->feed);
  add_limits(app);
  add_format(app, options->format);
  app.footer(
      "thaw sensitivity model.onnx --data samples/ --to int8,int4 -o report/\n"
      "thaw sensitivity model.onnx --data samples/ --to int4 --mode fast -o report/\n"
      "thaw sensitivity model.onnx --data samples/ --to int4 --shard 2/4 -o shard2/\n"
      "thaw sensitivity merge shard1/ shard2/ shard3/ shard4/ -o report/");
  return [options, &app] { return options->model == kMerge ? merge_reports(*options) : measure_model(*options, app); };
}

}  // namespace thaw::cli
