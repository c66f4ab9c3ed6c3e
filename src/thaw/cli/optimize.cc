// thaw optimize: fewer nodes and bytes, the same numbers at every size.
#include "thaw/optimize.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"

namespace thaw::cli {
namespace {

constexpr std::string_view kOptimizedName = "optimized.onnx";

struct OptimizeArguments {
  std::string model, report;
  FeedArguments feeds;
  OutputArguments output;
  bool no_check = false, all = false, explain = false;
  OptimizeOptions optimize;
  std::string target;  // empty: none was asked for
  Format format = Format::kText;
};

TextOptions how_to_print(const OptimizeArguments& arguments) {
  TextOptions how = text_options(arguments.all || arguments.explain);
  how.explain = arguments.explain;
  return how;
}

int optimize_model(const OptimizeArguments& arguments) {
  const OutputArguments output = arguments.output.beside(arguments.model, kOptimizedName);
  const ReportFile file(arguments.report, {arguments.model, output.path});
  OptimizeOptions how = arguments.optimize;
  if (!arguments.target.empty()) set_target(arguments.target, how);
  how.check = !arguments.no_check;
  how.feeds = arguments.feeds.feeds();
  how.count_moved = arguments.explain;
  Model& model = until_exit(Model::load(arguments.model));
  file.require_other(model.data_files());
  const OptimizeReport report = optimize(model, how, output.output());
  file.write(report);
  if (arguments.format == Format::kJson)
    write_output(to_json(report));
  else
    write_output(to_text(report, how_to_print(arguments)));
  // A target that was asked for is a part of what was asked.
  return report.accepted() && (arguments.target.empty() || report.fits_target()) ? kFine : kFindings;
}

}  // namespace

Action define_optimize(Options& options) {
  auto arguments = std::make_shared<OptimizeArguments>();
  options.use("Use it before convert or a deployment; with --target it writes what that backend has kernels for.");
  add_model(options, arguments->model);
  options.heading("Passes");
  add_targets(options, arguments->target, "the backend whose operators the result may have (portable)");
  options.choice<OptimizeLevel>("--level", arguments->optimize.level,
                                {{"clean", OptimizeLevel::kClean}, {"fuse", OptimizeLevel::kFuse}},
                                "bit-identical numbers only, or fused operators too (fuse)");
  options.value("--opset", arguments->optimize.opset, "N", "the opset of the result (the model's)", Bounds{1, 1000});
  options.list("--only", arguments->optimize.only, "PASS,…", "only these passes (docs/guide/optimize.md lists them)");
  options.list("--skip", arguments->optimize.skip, "PASS,…", "not these passes");
  add_max_growth(options, arguments->optimize.max_growth);
  options.flag("--constant-weights", arguments->optimize.constant_weights,
               "make weights that are inputs too constants, and no longer inputs");
  add_model_output(options, arguments->output, kOptimizedName);
  add_check(options, arguments->no_check, arguments->feeds);
  add_all(options, arguments->all, "print every change and where");
  options.flag("--explain", arguments->explain, "also why the remaining patterns were not fused, and the bytes moved");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.retired("--check", "the result is checked anyway");
  options.common({"--output", "--in-place", "--dry-run", "--target", "--level", "--only", "--skip", "--explain"});
  options.examples(
      "thaw optimize model.onnx\n"
      "thaw optimize model.onnx -o faster.onnx --target ort\n"
      "thaw optimize model.onnx --dry-run --explain");
  return [arguments] { return optimize_model(*arguments); };
}

}  // namespace thaw::cli
