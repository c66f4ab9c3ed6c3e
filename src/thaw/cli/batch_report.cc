#include "thaw/cli/batch_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/cli/notes.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"

namespace thaw::cli {
namespace {

using report::HtmlCell;
using report::Outcome;

std::string text_of(const ir::Type& type) {
  return fmt::format("{}{}", ir::name_of(type.elem_type), ir::dims_text(type));
}

std::string sentence(const BatchRun& run) {
  const std::string made = fmt::format("{}, a model for one sample, became the same model over a batch", run.model);
  if (!confirm::all_agree(run.checked.runs))
    return made + ", but its numbers are not those of the samples one by one. Nothing was written.";
  if (!run.written) return made + ", but its numbers could not all be compared. Nothing was written.";
  if (!run.check) return made + ". Its numbers were not checked.";
  return made + ": result i of the batch is the model's result on sample i.";
}

void add_ports(report::HtmlPage& page, const BatchRun& run) {
  page.heading("Inputs and outputs");
  std::vector<std::vector<HtmlCell>> rows;
  for (const BatchedPort& port : run.ports) {
    const std::vector<Note>& batched = run.report.inputs;
    const bool shared = port.is_input && std::none_of(batched.begin(), batched.end(),
                                                      [&](const Note& note) { return note.where == port.name; });
    rows.push_back({HtmlCell::text(port.is_input ? "input" : "output"), HtmlCell::code(port.name),
                    HtmlCell::code(port.before),
                    shared ? HtmlCell::text("the same for all samples") : HtmlCell::code(port.after)});
  }
  page.table({"", "name", "one sample", "over a batch"}, rows);
}

void add_nodes(report::HtmlPage& page, const BatchRun& run) {
  const BatchReport& report = run.report;
  page.heading("Nodes");
  page.sentence(
      fmt::format("{} that samples reach batch as they are, {} have other axes, shapes or operands, {} that no sample "
                  "reaches stay, {} run sample by sample.",
                  report.kept, report.rewritten, report.untouched, report.loops.size()));
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [op, count] : report.operators) {
    rows.push_back({HtmlCell::code(op)});
    for (const int number : {count.kept, count.rewritten, count.untouched, count.loops})
      rows.back().push_back(HtmlCell::count(static_cast<uint64_t>(number)));
  }
  page.table({"operator", "as they are", "rewritten", "not reached", "sample by sample"}, rows);
  if (report.loops.empty()) return;
  page.heading("Nodes that run sample by sample");
  rows.clear();
  for (const Note& note : report.loops) rows.push_back({HtmlCell::code(note.where), HtmlCell::text(note.message)});
  page.table({"node", "why"}, rows);
}

// What was not compared; empty where everything was.
std::string not_checked(const BatchRun& run) { return run.check ? run.checked.reason : "--no-check was given"; }

}  // namespace

void note_before(const ir::Model& model, std::vector<BatchedPort>& ports) {
  for (const ir::Value* input : model.graph->inputs())
    if (input->initializer() == nullptr) ports.push_back({true, input->name(), text_of(input->type), {}});
  for (const ir::Value* output : model.graph->outputs())
    ports.push_back({false, output->name(), text_of(output->type), {}});
}

void note_after(const ir::Model& model, std::vector<BatchedPort>& ports) {
  for (BatchedPort& port : ports) {
    const ir::Value* value = model.graph->find(port.name);
    if (value != nullptr && (port.is_input ? value->is_input() : value->is_output())) port.after = text_of(value->type);
  }
}

std::string batch_text(const BatchRun& run) {
  std::string text;
  const BatchReport& report = run.report;
  for (const Note& note : report.inputs)
    text += fmt::format("input   {}  {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.kept_batches)
    text += fmt::format("batch   {}: {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.outputs)
    text += fmt::format("output  {}  {}\n", report::printable(note.where), report::printable(note.message));
  text += fmt::format("nodes   {} batch as they are, {} rewritten, {} that no sample reaches\n", report.kept,
                      report.rewritten, report.untouched);
  for (const Note& note : report.loops)
    text += fmt::format("loop    {}: {}\n", report::printable(note.where), report::printable(note.message));
  text += report::checks_text(run.checked.runs, "agrees sample by sample at", "DIFFERS from single samples at");
  if (run.check && !run.checked.reason.empty())
    text += fmt::format("not checked: {}\n", report::printable(run.checked.reason));
  if (run.written) return text + written_text(run.files);
  if (confirm::all_agree(run.checked.runs))
    return text + "nothing was written: give what runs with --values or --sample, or --no-check to write it unproven\n";
  return text + "nothing was written\n";
}

std::string batch_json(const BatchRun& run) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", run.model);
  write_output_member(json, run.files);
  write_notes(json, "inputs", views(run.report.inputs));
  write_notes(json, "outputs", views(run.report.outputs));
  write_notes(json, "kept_batches", views(run.report.kept_batches));
  json.member("kept", run.report.kept);
  json.member("rewritten", run.report.rewritten);
  json.member("untouched", run.report.untouched);
  write_notes(json, "loops", views(run.report.loops));
  json.member_object("operators");
  for (const auto& [op, count] : run.report.operators) {
    json.member_object(op, report::JsonWriter::Layout::kLine);
    json.member("kept", count.kept);
    json.member("rewritten", count.rewritten);
    json.member("untouched", count.untouched);
    json.member("loops", count.loops);
    json.end_object();
  }
  json.end_object();
  report::write_checks(json, "sizes", run.checked.runs);
  json.optional_member("not_checked", not_checked(run));
  write_files_member(json, run.files);
  json.end_object();
  return text + "\n";
}

std::string batch_page(const BatchRun& run) {
  report::HtmlPage page(fmt::format("thaw batch: {}", run.output));
  page.verdict(!run.written ? Outcome::kBad
               : !run.check ? Outcome::kOpen
                            : Outcome::kGood,
               run.written ? "written" : "not written", sentence(run));
  add_ports(page, run);
  add_nodes(page, run);
  page.heading("Checked");
  if (const std::string open = not_checked(run); !open.empty()) page.sentence(fmt::format("Not checked: {}", open));
  if (!run.checked.runs.empty()) {
    page.sentence(fmt::format("{} samples were drawn; the model ran on each, the result on all of them at once.",
                              run.checked.samples));
    report::add_checks(page, "sizes of a sample", run.checked.runs);
  }
  return page.finish();
}

}  // namespace thaw::cli
