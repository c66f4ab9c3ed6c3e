// What `thaw batch` did: inputs and outputs before and after, what became of the nodes, and the check.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/batch.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

std::string batch_sentence(const BatchReport& report) {
  const std::string made = fmt::format("{}, a model for one sample, became the same model over a batch", report.model);
  if (!confirm::all_agree(report.checks))
    return made + ", but its numbers are not those of the samples one by one. Nothing was written.";
  if (!report.accepted()) return made + ", but its numbers could not all be compared. Nothing was written.";
  if (!report.is_checked) return made + ". Its numbers were not checked.";
  return made + ": result i of the batch is the model's result on sample i.";
}

void add_batched_ports(HtmlPage& page, const BatchReport& report) {
  page.heading("Inputs and outputs");
  std::vector<std::vector<HtmlCell>> rows;
  for (const BatchedPort& port : report.ports) {
    const std::vector<Note>& batched = report.inputs;
    const bool shared = port.is_input && std::none_of(batched.begin(), batched.end(),
                                                      [&](const Note& note) { return note.where == port.name; });
    rows.push_back({HtmlCell::text(port.is_input ? "input" : "output"), HtmlCell::code(port.name),
                    HtmlCell::code(port.before),
                    shared ? HtmlCell::text("the same for all samples") : HtmlCell::code(port.after)});
  }
  page.table({"", "name", "one sample", "over a batch"}, rows);
}

void add_batched_nodes(HtmlPage& page, const BatchReport& report) {
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
  const auto add_notes = [&](const std::vector<Note>& notes, std::string_view heading, std::string_view what) {
    if (notes.empty()) return;
    page.heading(heading);
    rows.clear();
    for (const Note& note : notes) rows.push_back({HtmlCell::code(note.where), HtmlCell::text(note.message)});
    page.table({"node", std::string(what)}, rows);
  };
  add_notes(report.guarded, "Branches that cannot run", "what the result does");
  add_notes(report.deciding, "Branches that samples decide", "by what");
  if (report.loops.empty()) return;
  page.heading("Nodes that run sample by sample");
  rows.clear();
  for (const Note& note : report.loops) rows.push_back({HtmlCell::code(note.where), HtmlCell::text(note.message)});
  page.table({"node", "why"}, rows);
}

// What was not compared; empty where everything was.
std::string unchecked_in_batch(const BatchReport& report) {
  return report.is_checked ? report.unchecked : "--no-check was given";
}

}  // namespace

std::string to_text(const BatchReport& report, const TextOptions&) {
  std::string text;
  for (const Note& note : report.inputs)
    text += fmt::format("input   {}  {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.kept_batches)
    text += fmt::format("batch   {}: {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.outputs)
    text += fmt::format("output  {}  {}\n", report::printable(note.where), report::printable(note.message));
  text += fmt::format("nodes   {} batch as they are, {} rewritten, {} that no sample reaches\n", report.kept,
                      report.rewritten, report.untouched);
  for (const Note& note : report.guarded)
    text += fmt::format("branch  {}: {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.loops)
    text += fmt::format("loop    {}: {}\n", report::printable(note.where), report::printable(note.message));
  text += report::checks_text(report.checks, "agrees sample by sample at", "DIFFERS from single samples at");
  if (report.is_checked && !report.unchecked.empty())
    text += fmt::format("not checked: {}\n", report::printable(report.unchecked));
  text += report::as_written_text(report.as_written);
  for (const Note& note : report.deciding)
    text += fmt::format("{}: {}\n", report::printable(note.where), report::printable(note.message));
  text += rewrite::describe_taken_weights(report.default_weights);
  if (report.accepted()) return text + report::written_text(report.files);
  if (!report.as_written.is_refused() && confirm::all_agree(report.checks))
    return text + "nothing was written: give what runs with --values or --sizes, or --no-check to write it unproven\n";
  return text + "nothing was written\n";
}

std::string to_json(const BatchReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  report::write_notes(json, "inputs", report::views(report.inputs));
  report::write_notes(json, "outputs", report::views(report.outputs));
  report::write_notes(json, "kept_batches", report::views(report.kept_batches));
  report::write_notes(json, "guarded", report::views(report.guarded));
  report::write_notes(json, "deciding", report::views(report.deciding));
  json.member("kept", report.kept);
  json.member("rewritten", report.rewritten);
  json.member("untouched", report.untouched);
  report::write_notes(json, "loops", report::views(report.loops));
  json.member_object("operators");
  for (const auto& [op, count] : report.operators) {
    json.member_object(op, JsonWriter::Layout::kLine);
    json.member("kept", count.kept);
    json.member("rewritten", count.rewritten);
    json.member("untouched", count.untouched);
    json.member("loops", count.loops);
    json.end_object();
  }
  json.end_object();
  report::write_checks(json, "sizes", report.checks);
  json.optional_member("not_checked", unchecked_in_batch(report));
  report::write_as_written(json, report.as_written);
  if (report.default_weights > 0) json.member("default_weights", report.default_weights);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_html(const BatchReport& report) {
  HtmlPage page(fmt::format("thaw batch: {}", report.output));
  page.verdict(!report.accepted()   ? Outcome::kBad
               : !report.is_checked ? Outcome::kOpen
                                    : Outcome::kGood,
               report.accepted() ? "written" : "not written", batch_sentence(report));
  add_batched_ports(page, report);
  add_batched_nodes(page, report);
  page.heading("Checked");
  if (const std::string open = unchecked_in_batch(report); !open.empty())
    page.sentence(fmt::format("Not checked: {}", open));
  if (!report.checks.empty()) {
    page.sentence(fmt::format("{} samples were drawn; the model ran on each, the result on all of them at once.",
                              report.samples));
    report::add_checks(page, "sizes of a sample", report.checks);
  }
  report::add_as_written(page, report.as_written);
  if (report.default_weights > 0) page.sentence(rewrite::describe_taken_weights(report.default_weights));
  return page.finish();
}

}  // namespace thaw
