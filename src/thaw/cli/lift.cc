// thaw lift: several static traces of one model in, one model for every size out.
#include "thaw/lift/lift.h"

#include <filesystem>
#include <memory>

#include "thaw/cli/lift_report.h"
#include "thaw/cli/limit_options.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/report_file.h"
#include "thaw/cli/save_options.h"
#include "thaw/cli/trace_values.h"
#include "thaw/cli/verb.h"
#include "thaw/confirm/traces.h"
#include "thaw/core/phase.h"
#include "thaw/lift/align/values.h"
#include "thaw/run/session.h"

namespace thaw::cli {
namespace {

struct LiftArguments {
  std::vector<std::string> traces, added, keep_static;
  std::vector<std::string> values;
  std::string output, report;
  bool no_check = false, all = false;
  SaveArguments saving;
  Format format = Format::kText;
};

int lift_traces(const LiftArguments& options) {
  std::vector<std::string> others = options.traces;
  others.insert(others.end(), options.values.begin(), options.values.end());
  others.push_back(options.output);
  ReportFile file(options.report, others);
  std::vector<lifting::Trace> traces;
  for (const std::string& path : options.traces)
    traces.push_back({.name = std::filesystem::path(path).filename().string(), .model = ir::load(path), .values = {}});
  for (const lifting::Trace& trace : traces) {
    options.saving.require(*trace.model, options.output);
    file.require_other(ir::data_files_of(*trace.model));
  }
  for (const std::string& path : options.values) read_trace_values(path, traces);
  if (!options.no_check) run::prepare_sessions();
  LiftOptions how;
  for (const std::string& text : options.added) how.added.push_back(lifting::parse_added_input(text));
  how.keep_static.insert(options.keep_static.begin(), options.keep_static.end());
  LiftRun run;
  run.traces = inputs_of(traces);
  run.output = options.output;
  {
    const Phase phase("lifting");
    run.report = lifting::lift(traces, how);
  }
  const bool whole = run.report.unexplained.empty();
  ir::Model& model = *traces.front().model;
  if (whole) {
    rewrite::require_renames(model, options.saving.renames());
    run.inputs = describe_ports(model.graph->inputs());
    run.outputs = describe_ports(model.graph->outputs());
    if (!options.no_check) run.checks = confirm::compare_with_traces(model, traces);
  }
  run.written = whole && confirm::all_agree(run.checks);
  if (run.written) rewrite::rename_sizes(model, options.saving.renames());
  if (run.written) run.files = ir::save(model, options.output);
  const std::string json = lift_json(run);
  file.write(json, [&] { return lift_page(run); });
  write_output(options.format == Format::kJson ? json : lift_text(run, options.all));
  return run.written ? kFine : kFindings;
}

}  // namespace

Action define_lift(CLI::App& app) {
  auto options = std::make_shared<LiftArguments>();
  app.add_option("TRACE", options->traces, "static exports of one model at different sizes")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options->output, "the file to write")->required()->type_name("FILE");
  app.add_option("--values", options->values,
                 "the integer inputs' values: a JSON file of all traces, or an .npz named as its trace")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--add-input", options->added, "an input that the exporter took out: 'grid_thw:int64[1,3]'")
      ->type_name("NAME:TYPE[DIMS]")
      ->allow_extra_args(false);
  add_list(app, "--keep-static", options->keep_static, "NAME,…", "constants that stay as they are in the first trace");
  add_save_options(app, options->saving);
  app.add_flag("--no-check", options->no_check, "do not run the result beside each trace at its own size");
  app.add_flag("--all", options->all, "print every constant, not the first few");
  add_report(app, options->report);
  add_limits(app);
  add_format(app, options->format);
  app.footer("thaw lift vision_22x30.onnx vision_28x20.onnx vision_16x24.onnx -o vision.onnx --values grids.json");
  return [options] { return lift_traces(*options); };
}

}  // namespace thaw::cli
