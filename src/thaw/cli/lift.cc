// thaw lift: several static traces of one model in, one model for every size out.
#include "thaw/lift.h"

#include <memory>

#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/shared_options.h"
#include "thaw/cli/until_exit.h"
#include "thaw/cli/verb.h"
#include "thaw/verbs/texts.h"

namespace thaw::cli {
namespace {

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
  others.push_back(arguments.output.path);
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
  const LiftResult& result = until_exit(lift(traces, how, arguments.output.output()));
  file.write(result.report);
  print(result.report, arguments.format, arguments.all);
  return result.report.accepted() ? kFine : kFindings;
}

}  // namespace

Action define_lift(Options& options) {
  auto arguments = std::make_shared<LiftArguments>();
  options.arguments(
      "TRACE", arguments->traces, "FILE",
      "static exports at three sizes: sides unequal, one odd or off the stride, two batches");
  options.required("-o,--output", arguments->output.path, "FILE", "the file to write");
  options.texts("--values", arguments->values, "FILE",
                "the integer inputs' values: a JSON file of all traces, or an .npz named as its trace");
  options.texts("--add-input", arguments->added, "NAME:TYPE[DIMS]",
                "an input that the exporter took out: 'grid_thw:int64[1,3]'");
  options.list("--keep-static", arguments->keep_static, "NAME,…", "constants that stay as they are in the first trace");
  add_rename_and_in_place(options, arguments->output);
  options.flag("--no-check", arguments->no_check, "do not run the result beside each trace at its own size");
  options.flag("--all", arguments->all, "print every constant, not the first few");
  add_report(options, arguments->report);
  add_limits(options);
  add_format(options, arguments->format);
  options.examples(
      "thaw lift vision_22x30.onnx vision_28x20.onnx vision_16x24.onnx -o vision.onnx --values grids.json");
  return [arguments] { return lift_traces(*arguments); };
}

}  // namespace thaw::cli
