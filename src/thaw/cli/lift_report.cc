#include "thaw/cli/lift_report.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/cli/notes.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"

namespace thaw::cli {
namespace {

using report::HtmlCell;
using report::Outcome;

constexpr size_t kMostValues = 16;

// "float32[660, 1536]", "int64[1, 3] = 1, 22, 30". A name among the sizes is told by its value in the trace.
std::string text_of(const TraceInput& input, const LiftRun& run, size_t trace) {
  std::string text = "added";
  if (input.type.kind != ir::Type::Kind::kNone) {
    ir::Type type = input.type;
    if (type.shape) {
      for (ir::DeclaredDim& dim : *type.shape) {
        for (const Note& size : run.report.variables)
          if (!dim.value && dim.param == size.where && trace < size.at.size()) dim.param = size.at[trace];
      }
    }
    text = fmt::format("{}{}", ir::name_of(type.elem_type), ir::dims_text(type));
  }
  return input.values.empty() ? text : text + " = " + input.values;
}

void write_ports(report::JsonWriter& json, std::string_view name, const std::vector<PortText>& ports) {
  json.member_array(name);
  for (const PortText& port : ports) {
    json.begin_object(report::JsonWriter::Layout::kLine);
    json.member("name", port.name);
    json.member("type", port.type);
    json.end_object();
  }
  json.end_array();
}

std::vector<std::string> with_traces(std::string first, const LiftRun& run, std::vector<std::string> last = {}) {
  std::vector<std::string> columns{std::move(first)};
  for (const TraceInputs& trace : run.traces) columns.push_back(trace.trace);
  columns.insert(columns.end(), last.begin(), last.end());
  return columns;
}

void add_groups(report::HtmlPage& page, const LiftRun& run, std::string first, const std::vector<Note>& notes) {
  const std::vector<NoteView> seen = views(notes);
  const bool has_evidence = std::any_of(notes.begin(), notes.end(), [](const Note& n) { return !n.at.empty(); });
  std::vector<std::vector<HtmlCell>> rows;
  for (const NoteGroup& group : grouped_notes(seen)) {
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(group.message));
    for (size_t k = 0; has_evidence && k < run.traces.size(); ++k)
      row.push_back(HtmlCell::code(k < group.at.size() ? group.at[k] : ""));
    row.push_back(HtmlCell::count(group.where.size()));
    row.push_back(HtmlCell::list(group.where, 2));
  }
  const std::vector<std::string> last{"places", "where"};
  page.table(has_evidence ? with_traces(std::move(first), run, last) : std::vector{std::move(first), last[0], last[1]},
             rows);
}

void add_traces(report::HtmlPage& page, const LiftRun& run) {
  page.heading("The traces");
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t k = 0; k < run.traces.size(); ++k) {
    std::vector<std::string> inputs;
    for (const TraceInput& input : run.traces[k].inputs)
      inputs.push_back(fmt::format("{} {}", input.name, text_of(input, run, k)));
    rows.push_back({HtmlCell::code(run.traces[k].trace), HtmlCell::list(inputs, 6)});
  }
  page.table({"trace", "inputs"}, rows);
}

void add_sizes(report::HtmlPage& page, const LiftRun& run) {
  page.heading("The sizes, and their values in each trace");
  std::vector<std::vector<HtmlCell>> rows;
  bool has_remarks = false;
  for (const Note& size : run.report.variables) {
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(size.where));
    for (const std::string& value : size.at) row.push_back(HtmlCell::code(value));
    // The message says the values again; what it says besides is a remark.
    const std::string values = fmt::format("{}", fmt::join(size.at, ", "));
    const bool repeats = size.message.starts_with(values);
    std::string remark = repeats ? size.message.substr(values.size()) : size.message;
    if (remark.starts_with(": ")) remark.erase(0, 2);
    has_remarks |= !remark.empty();
    row.push_back(HtmlCell::text(remark));
  }
  if (!has_remarks)
    for (std::vector<HtmlCell>& row : rows) row.pop_back();
  page.table(with_traces("size", run, has_remarks ? std::vector<std::string>{"remark"} : std::vector<std::string>{}),
             rows);
}

void add_ports(report::HtmlPage& page, const LiftRun& run) {
  if (run.inputs.empty() && run.outputs.empty()) return;
  page.heading("The lifted model");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PortText& port : run.inputs)
    rows.push_back({HtmlCell::text("input"), HtmlCell::code(port.name), HtmlCell::code(port.type)});
  for (const PortText& port : run.outputs)
    rows.push_back({HtmlCell::text("output"), HtmlCell::code(port.name), HtmlCell::code(port.type)});
  page.table({"", "name", "type"}, rows);
}

std::string sentence(const LiftRun& run) {
  const std::string traces = report::counted(run.traces.size(), "trace");
  const size_t open = run.report.unexplained.size();
  if (open > 0) {
    return fmt::format("{} of {} are not explained. Nothing was written.", report::counted(open, "difference"), traces);
  }
  const std::string made = fmt::format(
      "{} of one model became one model for every size: {} between them are computed "
      "from the inputs",
      traces, report::counted(run.report.lifted.size(), "difference"));
  if (!confirm::all_agree(run.checks))
    return made + ", but its numbers are not those of the traces. Nothing was written.";
  return made + (run.checks.empty() ? "." : ", and its numbers are those of every trace.");
}

}  // namespace

std::vector<PortText> describe_ports(const std::vector<ir::Value*>& values) {
  std::vector<PortText> ports;
  for (const ir::Value* value : values) {
    if (value->initializer() != nullptr) continue;
    ports.push_back(
        {value->name(), fmt::format("{}{}", ir::name_of(value->type.elem_type), ir::dims_text(value->type))});
  }
  return ports;
}

std::vector<TraceInputs> inputs_of(const std::vector<lifting::Trace>& traces) {
  std::vector<TraceInputs> result;
  for (const lifting::Trace& trace : traces) {
    std::vector<TraceInput>& inputs = result.emplace_back(TraceInputs{trace.name, {}}).inputs;
    for (const ir::Value* value : trace.model->graph->inputs())
      if (value->initializer() == nullptr) inputs.push_back({value->name(), value->type, {}});
    for (const auto& [name, given] : trace.values) {
      if (given.values.empty()) continue;
      auto input = std::find_if(inputs.begin(), inputs.end(), [&](const TraceInput& i) { return i.name == name; });
      if (input == inputs.end()) input = inputs.insert(input, {name, {}, {}});
      const bool whole = given.values.size() <= kMostValues;
      input->values =
          fmt::format("{}{}", fmt::join(std::span(given.values).first(whole ? given.values.size() : kMostValues), ", "),
                      whole ? "" : ", …");
    }
  }
  return result;
}

std::string lift_text(const LiftRun& run, bool all) {
  const LiftReport& report = run.report;
  std::string text = notes_text("sizes", views(report.variables), all);
  if (!report.passed_over.empty()) text += notes_text("passed over", views(report.passed_over), all);
  if (!report.lifted.empty()) text += groups_text("lifted", views(report.lifted), all);
  if (!report.holdout.empty()) text += notes_text("holdout", views(report.holdout), all);
  if (!report.inferred.empty()) text += notes_text("inferred", views(report.inferred), all);
  if (!report.unexplained.empty()) text += groups_text("not explained", views(report.unexplained), all);
  text += report::checks_text(run.checks, "agrees with", "DIFFERS from");
  return text + (run.written ? written_text(run.files) : "nothing was written\n");
}

std::string lift_json(const LiftRun& run) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  write_output_member(json, run.files);
  json.member_array("traces");
  for (size_t k = 0; k < run.traces.size(); ++k) {
    std::vector<PortText> inputs;
    for (const TraceInput& input : run.traces[k].inputs) inputs.push_back({input.name, text_of(input, run, k)});
    json.begin_object();
    json.member("trace", run.traces[k].trace);
    write_ports(json, "inputs", inputs);
    json.end_object();
  }
  json.end_array();
  write_ports(json, "inputs", run.inputs);
  write_ports(json, "outputs", run.outputs);
  write_notes(json, "sizes", views(run.report.variables));
  write_notes(json, "passed_over", views(run.report.passed_over));
  write_notes(json, "lifted", views(run.report.lifted));
  write_notes(json, "holdout", views(run.report.holdout));
  write_notes(json, "inferred", views(run.report.inferred));
  write_notes(json, "unexplained", views(run.report.unexplained));
  report::write_checks(json, "trace", run.checks);
  write_files_member(json, run.files);
  json.end_object();
  return text + "\n";
}

std::string lift_page(const LiftRun& run) {
  report::HtmlPage page(fmt::format("thaw lift: {}", run.output));
  page.verdict(run.written ? Outcome::kGood : Outcome::kBad, run.written ? "written" : "not written", sentence(run));
  add_traces(page, run);
  add_sizes(page, run);
  if (!run.report.passed_over.empty()) {
    page.heading("Passed over");
    page.sentence("Values that were told and are no sizes.");
    add_groups(page, run, "why", run.report.passed_over);
  }
  if (!run.report.unexplained.empty()) {
    page.heading("Not explained");
    page.sentence(
        "What may help: the values of integer inputs (--values), an input that the exporter took out (--add-input), a "
        "trace "
        "at another size. --keep-static leaves a constant as it is in the first trace.");
    add_groups(page, run, "why", run.report.unexplained);
  }
  if (!run.report.lifted.empty()) {
    page.heading("What was solved");
    page.sentence(
        "Each line is what was found between the traces: what it became, and the evidence, what it was in each trace.");
    add_groups(page, run, "became", run.report.lifted);
  }
  if (!run.report.holdout.empty()) {
    page.heading("Holdout");
    page.sentence("What the other traces alone say, where it is something else.");
    add_groups(page, run, "says", run.report.holdout);
  }
  if (!run.report.inferred.empty()) {
    page.heading("Inferred");
    page.sentence("What inference says of sizes that no trace has, and what was solved otherwise on its account.");
    add_groups(page, run, "says", run.report.inferred);
  }
  add_ports(page, run);
  page.heading("Checked");
  if (run.checks.empty()) {
    page.sentence("The result was not run beside the traces.");
  } else {
    page.sentence("The result ran beside each trace at the trace's size, on the same inputs.");
    report::add_checks(page, "trace", run.checks);
  }
  return page.finish();
}

}  // namespace thaw::cli
