// thaw optimize: fewer nodes and bytes, the same numbers at every size.
#include "thaw/optimize.h"

#include <memory>
#include <optional>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

struct OptimizeArguments {
  std::string model, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false, explain = false;
  OptimizeOptions optimize;
  std::optional<OptimizeTarget> target;
  Format format = Format::kText;
};

int optimize_model(const OptimizeArguments& arguments) {
  arguments.output.require_path("thaw optimize");
  const ReportFile file(arguments.report, {arguments.model, arguments.output.path});
  OptimizeOptions how = arguments.optimize;
  how.target = arguments.target.value_or(OptimizeTarget::kPortable);
  how.check = !arguments.no_check && !arguments.output.dry_run;
  how.feeds = arguments.feeds.feeds();
  how.count_moved = arguments.explain;
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const OptimizeReport report = optimize(model, how, arguments.output.output());
  file.write(report);
  print(report, arguments.format, arguments.explain);
  // A target that was asked for is a part of what was asked.
  return report.accepted() && (!arguments.target || report.fits_target()) ? kFine : kFindings;
}

}  // namespace

Action define_optimize(Options& options) {
  auto arguments = std::make_shared<OptimizeArguments>();
  add_model(options, arguments->model);
  options.value("-o,--output", arguments->output.path, "FILE", "the file to write");
  options.flag("--dry-run", arguments->output.dry_run, "say what would change, and write nothing");
  add_target(options, arguments->target, "whose operators the result may have (portable)");
  options.choice<OptimizeLevel>("--level", arguments->optimize.level,
                                {{"clean", OptimizeLevel::kClean}, {"fuse", OptimizeLevel::kFuse}},
                                "the same numbers bit for bit, or fused operators too (fuse)");
  options.value("--opset", arguments->optimize.opset, "N",
                "the opset of the result, the model's or a newer one (the model's)", Bounds{1, 1000});
  options.list("--only", arguments->optimize.only, "PASS", "these passes alone (docs/optimizing.md lists them)");
  options.list("--skip", arguments->optimize.skip, "PASS", "not these passes");
  add_max_growth(options, arguments->optimize.max_growth);
  options.flag("--constant-weights", arguments->optimize.constant_weights,
               "weights that are inputs too become constants, and are no inputs any more");
  options.flag("--explain", arguments->explain,
               "print every change and where, what nearly was one, and the bytes moved");
  add_external(options, arguments->output);
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the result beside the model");
  options.flag_call("--check", [] {}, "run the result beside the model before it is written, as it is anyway");
  options.exclude("--check", "--no-check");
  add_check_feeds(options, arguments->feeds);
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw optimize model.onnx -o smaller.onnx\n"
      "thaw optimize model.onnx -o smaller.onnx --level clean\n"
      "thaw optimize model.onnx -o faster.onnx --target ort\n"
      "thaw optimize model.onnx --dry-run --explain\n"
      "thaw optimize model.onnx -o smaller.onnx --skip fold");
  return [arguments] { return optimize_model(*arguments); };
}

}  // namespace thaw::cli
