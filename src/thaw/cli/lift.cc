// thaw lift: several static traces of one model in, one model for every size out.
#include "thaw/lift.h"

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

constexpr std::string_view kLiftedName = "lifted.onnx";

struct LiftArguments {
  std::vector<std::string> traces, added, keep_static, values;
  std::string report;
  OutputArguments output;
  bool no_check = false, all = false;
  Format format = Format::kText;
};

int lift_traces(const LiftArguments& arguments) {
  std::vector<std::string> others = arguments.traces;
  others.insert(others.end(), arguments.values.begin(), arguments.values.end());
  if (arguments.output.in_place && arguments.output.path.empty())
    throw Error(ErrorCode::kInvalidArgument, {.what = "--in-place does not say which of the traces to replace",
                                              .where = "thaw lift",
                                              .expected = "-o TRACE too",
                                              .next = "name it, or leave --in-place out"});
  const OutputArguments output = arguments.output.beside(arguments.traces.front(), kLiftedName);
  others.push_back(output.path);
  const ReportFile file(arguments.report, others);
  LiftOptions how;
  for (const std::string& text : arguments.added) how.added.push_back(verbs::parse_added_input(text));
  how.keep_static.insert(arguments.keep_static.begin(), arguments.keep_static.end());
  how.values.assign(arguments.values.begin(), arguments.values.end());
  how.check = !arguments.no_check;
  std::vector<LiftTrace> traces;
  for (const std::string& path : arguments.traces) {
    traces.push_back({.model = path});
    if (file.is_wanted()) file.require_other(Model::load(path).data_files());
  }
  const LiftResult& result = until_exit(lift(traces, how, output.output()));
  file.write(result.report);
  print(result.report, arguments.format, arguments.all);
  return result.report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_lift(Options& options) {
  auto arguments = std::make_shared<LiftArguments>();
  options.use("Use it where the code cannot be exported dynamically: trace it at three sizes and lift the traces.");
  options.arguments("TRACE", arguments->traces, "FILE",
                    "static exports at three sizes: unequal sides, one odd or off the stride, two batches");
  options.heading("Traces");
  options.texts("--trace-values", arguments->values, "FILE",
                "integer inputs' values: a JSON file for all traces, or an .npz named as its trace");
  options.texts("--add-input", arguments->added, "NAME:TYPE[DIMS]",
                "add an input that the exporter removed: 'grid_thw:int64[1,3]'");
  options.list("--keep-static", arguments->keep_static, "NAME,…", "constants to take unchanged from the first trace");
  add_output(options, arguments->output.path, kLiftedName);
  add_in_place(options, arguments->output);
  add_dry_run(options, arguments->output.dry_run);
  add_rename(options, arguments->output);
  options.heading("Check");
  options.flag("--no-check", arguments->no_check, "do not compare the result with each trace at its size");
  add_all(options, arguments->all, "print every constant, not the first few");
  add_report(options, arguments->report);
  add_format(options, arguments->format);
  add_limits(options);
  options.renamed("--values", "--trace-values");
  options.common({"--output", "--trace-values", "--add-input", "--keep-static", "--dry-run", "--all", "--report"});
  options.examples(
      "thaw lift net_64x96.onnx net_96x64.onnx net_90x160.onnx -o net.onnx\n"
      "thaw lift vision_22x30.onnx vision_28x20.onnx vision_16x24.onnx --trace-values grids.json\n"
      "thaw lift a.onnx b.onnx c.onnx --add-input 'grid_thw:int64[1,3]' --trace-values grids.json --report lift.html");
  return [arguments] { return lift_traces(*arguments); };
}

}  // namespace thaw::cli
