// What `thaw batch` did: inputs and outputs before and after, what became of the nodes, and the check.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/batch.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
#include "thaw/report/run_checks.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

constexpr report::ProofWords kOfEachSample{.other = "the original sample by sample",
                                           .open = "not proven of each sample"};

std::string batch_sentence(const BatchReport& report) {
  const std::string made = fmt::format("{}, a model for one sample, was given a batch axis", report.model);
  if (!confirm::all_agree(report.checks))
    return made + ", but its results differ from those of single samples. Nothing was written.";
  if (!report.accepted()) return made + ", but not all results could be compared. Nothing was written.";
  if (!report.is_checked) return made + ". Its results were not checked.";
  return made + ": row i of the result equals the original on sample i.";
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
      fmt::format("{} batched unchanged, {} rewritten with other axes, shapes or operands, {} independent of the "
                  "batch, {} run sample by sample.",
                  report.unchanged, report.rewritten, report.independent, report.per_sample_nodes.size()));
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [op, count] : report.operators) {
    rows.push_back({HtmlCell::code(op)});
    for (const int number : {count.unchanged, count.rewritten, count.independent, count.per_sample})
      rows.back().push_back(HtmlCell::count(static_cast<uint64_t>(number)));
  }
  page.table({"operator", "unchanged", "rewritten", "independent", "sample by sample"}, rows);
  const auto add_notes = [&](const std::vector<Note>& notes, std::string_view heading, std::string_view what) {
    if (notes.empty()) return;
    page.heading(heading);
    rows.clear();
    for (const Note& note : notes) rows.push_back({HtmlCell::code(note.where), HtmlCell::text(note.message)});
    page.table({"node", std::string(what)}, rows);
  };
  add_notes(report.guarded_branches, "Branches that cannot run", "what the result does");
  add_notes(report.data_dependent_branches, "Branches that depend on the sample", "by what");
  if (report.per_sample_nodes.empty()) return;
  page.heading("Nodes that run sample by sample");
  rows.clear();
  for (const Note& note : report.per_sample_nodes)
    rows.push_back({HtmlCell::code(note.where), HtmlCell::text(note.message)});
  page.table({"node", "why"}, rows);
}

// What was not compared; empty where everything was.
std::vector<std::string> not_compared_in(const BatchReport& report) {
  return report.is_checked ? report.not_compared : std::vector<std::string>{"--no-check was given"};
}

// [{"name", "before", "after"}] of the inputs, or of the outputs.
void write_ports(JsonWriter& json, std::string_view name, const BatchReport& report, bool inputs) {
  json.member_array(name);
  for (const BatchedPort& port : report.ports) {
    if (port.is_input != inputs) continue;
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("name", port.name);
    json.member("before", port.before);
    json.member("after", port.after);
    json.end_object();
  }
  json.end_array();
}

void write_counts(JsonWriter& json, std::string_view name, const BatchedNodes& count) {
  json.member_object(name, JsonWriter::Layout::kLine);
  json.member("unchanged", count.unchanged);
  json.member("rewritten", count.rewritten);
  json.member("independent", count.independent);
  json.member("per_sample", count.per_sample);
  json.end_object();
}

}  // namespace

std::string to_text(const BatchReport& report, const TextOptions& how) {
  std::string text;
  for (const Note& note : report.inputs)
    text += fmt::format("input   {}  {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.existing_batches)
    text += fmt::format("batch   {}: {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.outputs)
    text += fmt::format("output  {}  {}\n", report::printable(note.where), report::printable(note.message));
  text += fmt::format("nodes   {} batched unchanged, {} rewritten, {} independent of the batch\n", report.unchanged,
                      report.rewritten, report.independent);
  for (const Note& note : report.guarded_branches)
    text += fmt::format("branch  {}: {}\n", report::printable(note.where), report::printable(note.message));
  for (const Note& note : report.per_sample_nodes)
    text += fmt::format("loop    {}: {}\n", report::printable(note.where), report::printable(note.message));
  text += report::checks_text(report.checks, "agrees sample by sample at", "DIFFERS from single samples at");
  text += report::proof_text(report.proof, how.all, kOfEachSample);
  if (report.is_checked)
    for (const std::string& reason : report.not_compared)
      text += fmt::format("not checked: {}\n", report::printable(reason));
  text += report::load_check_text(report.load_check);
  for (const Note& note : report.data_dependent_branches)
    text += fmt::format("{}: {}\n", report::printable(note.where), report::printable(note.message));
  text += rewrite::describe_taken_weights(report.overridable_initializers);
  if (report.accepted()) return text + report::written_text(report.files);
  if (!report.load_check.has_failed() && confirm::all_agree(report.checks))
    return text + "nothing was written: give inputs that run with --values or --sizes, or pass --no-check\n";
  return text + "nothing was written\n";
}

std::string to_json(const BatchReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  write_ports(json, "inputs", report, true);
  write_ports(json, "outputs", report, false);
  report::write_notes(json, "existing_batches", report::views(report.existing_batches));
  report::write_notes(json, "guarded_branches", report::views(report.guarded_branches));
  report::write_notes(json, "data_dependent_branches", report::views(report.data_dependent_branches));
  write_counts(
      json, "nodes",
      {report.unchanged, report.rewritten, report.independent, static_cast<int>(report.per_sample_nodes.size())});
  report::write_notes(json, "per_sample_nodes", report::views(report.per_sample_nodes));
  json.member_object("operators");
  for (const auto& [op, count] : report.operators) write_counts(json, op, count);
  json.end_object();
  report::write_checks(json, report.checks);
  report::write_proof(json, report.proof);
  report::write_not_compared(json, not_compared_in(report));
  report::write_load_check(json, report.load_check);
  json.member("overridable_initializers", report.overridable_initializers);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_html(const BatchReport& report) {
  HtmlPage page(fmt::format("thaw batch: {}", report.output.empty() ? report.model : report.output));
  page.verdict(!report.accepted()   ? Outcome::kBad
               : !report.is_checked ? Outcome::kOpen
                                    : Outcome::kGood,
               report::word_of_result(report.accepted(), report.files), batch_sentence(report));
  add_batched_ports(page, report);
  add_batched_nodes(page, report);
  page.heading("Checked");
  for (const std::string& reason : not_compared_in(report)) page.sentence(fmt::format("Not checked: {}", reason));
  if (!report.checks.empty()) {
    page.sentence(fmt::format("{} samples were drawn; the model ran on each, the result on all of them at once.",
                              report.samples));
    report::add_checks(page, "sizes of a sample", report.checks);
  }
  report::add_proof(page, report.proof, kOfEachSample);
  report::add_load_check(page, report.load_check);
  if (report.overridable_initializers > 0)
    page.sentence(rewrite::describe_taken_weights(report.overridable_initializers));
  return page.finish();
}

}  // namespace thaw
