// thaw split: a model cut into parts that run one after the other.
#include "thaw/split.h"

#include <memory>
#include <utility>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kPartsName = "split", kPartName = "split.onnx";

struct SplitArguments {
  std::string model, sizes, report;
  std::vector<std::string> at, outputs;
  FeedArguments feeds;
  OutputArguments output;
  uint64_t parts = 0;
  bool no_check = false;
  SplitBalance balance = SplitBalance::kBytes;
  Format format = Format::kText;
};

int show_cut_points(const SplitArguments& arguments, const NamedSizes& sizes) {
  const Model& model = until_exit(Model::load(arguments.model));
  const std::vector<CutPoint> points = cut_points(model, sizes);
  write_output(arguments.format == Format::kJson ? to_json(points, arguments.model) : to_text(points));
  return kFine;
}

int split_model(const SplitArguments& arguments) {
  SplitOptions how;
  how.sizes = verbs::parse_sizes(arguments.sizes, "--sizes");
  if (arguments.at.empty() && arguments.outputs.empty() && arguments.parts == 0)
    return show_cut_points(arguments, how.sizes);
  const OutputArguments output =
      arguments.output.beside(arguments.model, arguments.outputs.empty() ? kPartsName : kPartName);
  const ReportFile file(arguments.report, {arguments.model, output.path});
  for (const std::string& text : arguments.at) how.at.push_back(verbs::parse_cut(text));
  how.outputs = arguments.outputs;
  how.parts = arguments.parts;
  how.balance = arguments.balance;
  how.check = !arguments.no_check;
  how.feeds = arguments.feeds.feeds();
  const Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const Split& result = until_exit(split(model, how, output.output()));
  file.write(result.report);
  print(result.report, arguments.format);
  return result.report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_split(Options& options) {
  auto arguments = std::make_shared<SplitArguments>();
  options.use("Use it for a model that is too large for one device; without --at or --parts it lists where to cut.");
  add_model(options, arguments->model);
  options.heading("Cut");
  options.texts("--at", arguments->at, "TENSOR[,TENSOR]", "cut at these tensors; once for each cut");
  options.list("--outputs", arguments->outputs, "NAME,…", "keep what comes before these tensors, as one model");
  options.value("--parts", arguments->parts, "N", "cut into this many parts, where few bytes pass", Bounds{2, 1000});
  options.choice<SplitBalance>("--balance", arguments->balance,
                               {{"bytes", SplitBalance::kBytes}, {"flops", SplitBalance::kFlops}},
                               "what --parts balances: bytes of weights, or operations (bytes)");
  options.heading("Sizes");
  options.value("--sizes", arguments->sizes, "SPEC", "the sizes to compute bytes and operations at (64 for each)");
  for (const auto& [one, other] : {std::pair{"--at", "--outputs"}, {"--at", "--parts"}, {"--outputs", "--parts"}})
    options.exclude(one, other);
  options.heading("Output");
  options.value("-o,--output", arguments->output.path, "PATH",
                "the folder to write, with --outputs the file (NAME.split, NAME.split.onnx beside the input)");
  options.writes({"--output"});
  add_dry_run(options, arguments->output.dry_run);
  add_external(options, arguments->output);
  add_rename(options, arguments->output);
  add_check(options, arguments->no_check, arguments->feeds);
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--set", "--sizes");
  options.common({"--output", "--at", "--outputs", "--parts", "--balance", "--sizes", "--dry-run", "--report"});
  options.examples(
      "thaw split asr.onnx\n"
      "thaw split decoder.onnx --parts 3\n"
      "thaw split detector.onnx --outputs /backbone/Relu_output_0 -o backbone.onnx");
  return [arguments] { return split_model(*arguments); };
}

}  // namespace thaw::cli
