// thaw split: a model cut into parts that run one after the other.
#include "thaw/split.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

struct SplitArguments {
  std::string model, sizes, report;
  std::vector<std::string> at;
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
  how.sizes = verbs::parse_sizes(arguments.sizes, "--set");
  if (arguments.at.empty() && arguments.parts == 0) return show_cut_points(arguments, how.sizes);
  if (arguments.output.path.empty())
    throw Error(ErrorCode::kInvalidArgument,
                {"no folder to write to is given", "thaw split", "-o FOLDER", "name the folder for the parts"});
  if (!arguments.at.empty() && arguments.parts != 0)
    throw Error(ErrorCode::kInvalidArgument,
                {"--at and --parts are given", "thaw split", "one of them", "leave one out"});
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path});
  for (const std::string& text : arguments.at) how.at.push_back(verbs::parse_cut(text));
  how.parts = arguments.parts;
  how.balance = arguments.balance;
  how.check = !arguments.no_check;
  how.feeds = arguments.feeds.feeds();
  const Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const Split& result = until_exit(split(model, how, arguments.output.output()));
  file.write(result.report);
  print(result.report, arguments.format);
  return result.report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_split(Options& options) {
  auto arguments = std::make_shared<SplitArguments>();
  add_model(options, arguments->model);
  options.value("-o,--output", arguments->output.path, "FOLDER", "the folder for part_1.onnx, part_2.onnx, …");
  options.texts("--at", arguments->at, "TENSOR[,TENSOR]", "the tensors that pass a cut; once for each cut");
  options.value("--parts", arguments->parts, "N", "how many parts, cut at narrow places near even shares",
                Bounds{2, 1000});
  options.choice<SplitBalance>("--balance", arguments->balance,
                               {{"bytes", SplitBalance::kBytes}, {"flops", SplitBalance::kFlops}},
                               "what --parts shares evenly: bytes of weights, or operations (bytes)");
  options.value("--set", arguments->sizes, "SIZES",
                "sizes that what passes is reckoned at, such as h=640,w=480; 64 for the others");
  add_external(options, arguments->output);
  add_rename(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the parts beside the model");
  add_check_feeds(options, arguments->feeds);
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw split asr.onnx\n"
      "thaw split asr.onnx --at encoder_output -o parts\n"
      "thaw split decoder.onnx --parts 3 -o parts");
  return [arguments] { return split_model(*arguments); };
}

}  // namespace thaw::cli
