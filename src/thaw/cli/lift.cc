// thaw lift: several static traces of one model in, one model for every size out.
#include "thaw/lift/lift.h"

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "thaw/cli/lift_check.h"
#include "thaw/cli/notes.h"
#include "thaw/cli/options.h"
#include "thaw/cli/output.h"
#include "thaw/cli/verb.h"
#include "thaw/core/error.h"
#include "thaw/lift/values.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

struct Options {
  std::vector<std::string> traces, added, keep_static;
  std::string output, values;
  bool no_check = false, all = false;
  Format format = Format::kText;
};

int lift_traces(const Options& options) {
  std::vector<lift::Trace> traces;
  for (const std::string& path : options.traces)
    traces.push_back({.name = std::filesystem::path(path).filename().string(), .model = ir::load(path), .values = {}});
  if (!options.values.empty()) lift::read_values(options.values, traces);
  lift::Options how;
  for (const std::string& text : options.added) how.added.push_back(lift::parse_added_input(text));
  how.keep_static.insert(options.keep_static.begin(), options.keep_static.end());
  const lift::Report report = lift::lift(traces, how);
  const bool whole = report.unexplained.empty();
  std::vector<TraceCheck> checks;
  if (whole && !options.no_check) checks = compare_with_traces(*traces.front().model, options.traces, traces);
  const bool agrees = std::all_of(checks.begin(), checks.end(), [](const TraceCheck& c) { return c.agrees; });
  const bool write = whole && agrees;
  if (write) ir::save(*traces.front().model, options.output);
  if (options.format == Format::kJson) {
    std::string text;
    report::JsonWriter json(text);
    json.begin_object();
    json.key("output");
    if (write) {
      json.value(options.output);
    } else {
      json.null();
    }
    write_notes(json, "sizes", views(report.variables));
    write_notes(json, "lifted", views(report.lifted));
    write_notes(json, "unexplained", views(report.unexplained));
    json.member_array("checked");
    for (const TraceCheck& check : checks) {
      json.begin_object(report::JsonWriter::Layout::kLine);
      json.member("trace", check.trace);
      json.member("max_abs", check.max_abs);
      json.member("agrees", check.agrees);
      json.end_object();
    }
    json.end_array();
    json.end_object();
    write_output(text + "\n");
  } else {
    std::string text = notes_text("sizes", views(report.variables), options.all);
    if (!report.lifted.empty()) text += notes_text("lifted", views(report.lifted), options.all);
    if (!report.unexplained.empty()) text += notes_text("not explained", views(report.unexplained), options.all);
    for (const TraceCheck& check : checks)
      text += fmt::format("{} {}: largest difference {:.3g}\n", check.agrees ? "agrees with" : "DIFFERS from",
                          check.trace, check.max_abs);
    text += write ? fmt::format("wrote {}\n", report::printable(options.output)) : "nothing was written\n";
    write_output(text);
  }
  return write ? kFine : kFindings;
}

}  // namespace

Action define_lift(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("TRACE", options->traces, "static exports of one model at different sizes")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", options->output, "the file to write")->required()->type_name("FILE");
  app.add_option("--values", options->values, "JSON: the integer inputs' values in each trace")->type_name("FILE");
  app.add_option("--add-input", options->added, "an input that the exporter took out: 'grid_thw:int64[1,3]'")
      ->type_name("NAME:TYPE[DIMS]")
      ->allow_extra_args(false);
  add_list(app, "--keep-static", options->keep_static, "NAME,…", "constants that stay as they are in the first trace");
  app.add_flag("--no-check", options->no_check, "do not run the result beside each trace at its own size");
  app.add_flag("--all", options->all, "print every constant, not the first few");
  add_format(app, options->format);
  app.footer("thaw lift vision_22x30.onnx vision_28x20.onnx vision_16x24.onnx -o vision.onnx --values grids.json");
  return [options] { return lift_traces(*options); };
}

}  // namespace thaw::cli
