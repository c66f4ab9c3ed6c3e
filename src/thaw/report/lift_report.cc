// What `thaw lift` did: what was solved, from what evidence, checked at which sizes.
#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/lift.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
#include "thaw/report/run_checks.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

constexpr report::ProofWords kOfTraces{.other = "every trace", .sizes = "at its sizes", .open = "not proven"};

void write_ports(JsonWriter& json, std::string_view name, const std::vector<PortText>& ports) {
  json.member_array(name);
  for (const PortText& port : ports) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", port.name);
    json.member("type", port.type);
    json.end_object();
  }
  json.end_array();
}

std::vector<std::string> with_traces(std::string first, const LiftReport& report, std::vector<std::string> last = {}) {
  std::vector<std::string> columns{std::move(first)};
  for (const TraceInputs& trace : report.traces) columns.push_back(trace.trace);
  columns.insert(columns.end(), last.begin(), last.end());
  return columns;
}

void add_solved(HtmlPage& page, const LiftReport& report, std::string first, const std::vector<Note>& notes) {
  const std::vector<report::NoteView> seen = report::views(notes);
  const bool has_evidence = std::any_of(notes.begin(), notes.end(), [](const Note& n) { return !n.at.empty(); });
  std::vector<std::vector<HtmlCell>> rows;
  for (const report::NoteGroup& group : report::grouped_notes(seen)) {
    std::vector<HtmlCell>& row = rows.emplace_back();
    row.push_back(HtmlCell::code(group.message));
    for (size_t k = 0; has_evidence && k < report.traces.size(); ++k)
      row.push_back(HtmlCell::code(k < group.at.size() ? group.at[k] : ""));
    row.push_back(HtmlCell::count(group.where.size()));
    row.push_back(HtmlCell::list(group.where, 2));
  }
  const std::vector<std::string> last{"locations", "where"};
  page.table(
      has_evidence ? with_traces(std::move(first), report, last) : std::vector{std::move(first), last[0], last[1]},
      rows);
}

void add_lifted_traces(HtmlPage& page, const LiftReport& report) {
  page.heading("The traces");
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t k = 0; k < report.traces.size(); ++k) {
    std::vector<std::string> inputs;
    for (const PortText& input : report.traces[k].inputs)
      inputs.push_back(fmt::format("{} {}", input.name, input.type));
    rows.push_back({HtmlCell::code(report.traces[k].trace), HtmlCell::list(inputs, 6)});
  }
  page.table({"trace", "inputs"}, rows);
}

void add_lifted_sizes(HtmlPage& page, const LiftReport& report) {
  page.heading("The sizes, and their values in each trace");
  std::vector<std::vector<HtmlCell>> rows;
  bool has_remarks = false;
  for (const Note& size : report.symbols) {
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
  page.table(with_traces("size", report, has_remarks ? std::vector<std::string>{"remark"} : std::vector<std::string>{}),
             rows);
}

void add_lifted_ports(HtmlPage& page, const LiftReport& report) {
  if (report.inputs.empty() && report.outputs.empty()) return;
  page.heading("The lifted model");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PortText& port : report.inputs)
    rows.push_back({HtmlCell::text("input"), HtmlCell::code(port.name), HtmlCell::code(port.type)});
  for (const PortText& port : report.outputs)
    rows.push_back({HtmlCell::text("output"), HtmlCell::code(port.name), HtmlCell::code(port.type)});
  page.table({"", "name", "type"}, rows);
}

std::string lift_sentence(const LiftReport& report) {
  const std::string traces = report::counted(report.traces.size(), "trace");
  const size_t open = report.unexplained.size();
  if (open > 0) {
    return fmt::format("{} of {} are unexplained. Nothing was written.", report::counted(open, "difference"), traces);
  }
  const std::string made =
      fmt::format("{} of one model were lifted to one dynamic model: {} between them are now computed from the inputs",
                  traces, report::counted(report.lifted.size(), "difference"));
  if (!confirm::all_agree(report.checks))
    return made + ", but its results differ from the traces'. Nothing was written.";
  return made + (report.checks.empty() ? "." : ", and its results agree with every trace.");
}

}  // namespace

std::string to_text(const LiftReport& report, const TextOptions& how) {
  std::string text = report::notes_text("sizes", report::views(report.symbols), how.all);
  if (!report.skipped_inputs.empty())
    text += report::notes_text("skipped", report::views(report.skipped_inputs), how.all);
  if (!report.lifted.empty()) text += report::groups_text("lifted", report::views(report.lifted), how.all);
  if (!report.holdout.empty()) text += report::notes_text("holdout", report::views(report.holdout), how.all);
  if (!report.inferred.empty()) text += report::notes_text("inferred", report::views(report.inferred), how.all);
  if (!report.valid_sizes.empty()) text += report::notes_text("valid for", report::views(report.valid_sizes), how.all);
  if (!report.unexplained.empty())
    text += report::groups_text("unexplained", report::views(report.unexplained), how.all);
  text += report::checks_text(report.checks, "agrees with", "DIFFERS from");
  text += report::proof_text(report.proof, how.all, kOfTraces);
  text += report::load_check_text(report.load_check);
  return text + (report.accepted() ? report::written_text(report.files) : "nothing was written\n");
}

std::string to_json(const LiftReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  json.member_array("traces");
  for (const TraceInputs& trace : report.traces) {
    json.begin_object();
    json.member("model", trace.trace);
    write_ports(json, "inputs", trace.inputs);
    json.end_object();
  }
  json.end_array();
  write_ports(json, "inputs", report.inputs);
  write_ports(json, "outputs", report.outputs);
  report::write_symbols(json, report::views(report.symbols));
  report::write_notes(json, "skipped_inputs", report::views(report.skipped_inputs));
  report::write_notes(json, "lifted", report::views(report.lifted));
  report::write_notes(json, "holdout", report::views(report.holdout));
  report::write_notes(json, "inferred", report::views(report.inferred));
  report::write_notes(json, "valid_sizes", report::views(report.valid_sizes));
  report::write_notes(json, "unexplained", report::views(report.unexplained));
  report::write_checks(json, report.checks);
  report::write_proof(json, report.proof);
  report::write_load_check(json, report.load_check);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_html(const LiftReport& report) {
  HtmlPage page(fmt::format(
      "thaw lift: {}", report.output.empty() && !report.traces.empty() ? report.traces.front().trace : report.output));
  page.verdict(report.accepted() ? Outcome::kGood : Outcome::kBad,
               report::word_of_result(report.accepted(), report.files), lift_sentence(report));
  report::add_load_check(page, report.load_check);
  add_lifted_traces(page, report);
  add_lifted_sizes(page, report);
  if (!report.skipped_inputs.empty()) {
    page.heading("Skipped");
    page.sentence("Given values that are not sizes.");
    add_solved(page, report, "why", report.skipped_inputs);
  }
  if (!report.unexplained.empty()) {
    page.heading("Unexplained");
    page.sentence(
        "What may help: values of integer inputs (--trace-values), an input that the exporter removed "
        "(--add-input), a trace "
        "at another size. --keep-static keeps the value of the first trace.");
    add_solved(page, report, "why", report.unexplained);
  }
  if (!report.lifted.empty()) {
    page.heading("What was solved");
    page.sentence("One row for each difference: the expression it became, and its value in each trace.");
    add_solved(page, report, "became", report.lifted);
  }
  if (!report.holdout.empty()) {
    page.heading("Holdout");
    page.sentence("What the other traces alone predict, where it differs.");
    add_solved(page, report, "says", report.holdout);
  }
  if (!report.inferred.empty()) {
    page.heading("Inferred");
    page.sentence("What shape inference finds at unseen sizes, and what it changed in the solution.");
    add_solved(page, report, "says", report.inferred);
  }
  if (!report.valid_sizes.empty()) {
    page.heading("Valid for");
    page.sentence(
        "The solution depends on these properties of the traces' sizes: at other sizes the model ends with an error.");
    add_solved(page, report, "known", report.valid_sizes);
  }
  add_lifted_ports(page, report);
  page.heading("Checked");
  if (report.checks.empty()) {
    page.sentence("The result was not run against the traces.");
  } else {
    page.sentence("The result and each trace ran at the trace's size, on the same inputs.");
    report::add_checks(page, "trace", report.checks);
  }
  report::add_proof(page, report.proof, kOfTraces);
  return page.finish();
}

}  // namespace thaw
