// What `thaw optimize` did: how many nodes and bytes went, by which passes, and how the result did beside the model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/ops/target/target.h"
#include "thaw/optimize.h"
#include "thaw/report/findings.h"
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

using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

// By what was done, then where: a model has hundreds of one kind.
std::vector<report::NoteView> changes_by_kind(const OptimizeReport& report, bool explain) {
  std::vector<report::NoteView> notes;
  for (const Change& change : report.changed) {
    std::string message = change.kind;
    if (explain) message += ": " + change.message();
    notes.push_back({.code = {}, .where = change.location, .message = std::move(message), .at = {}});
  }
  return notes;
}

std::string_view title_of(const OptimizeReport& report) {
  if (const ops::Target* backend = ops::find_target(report.backend)) return backend->title;
  if (report.target == OptimizeTarget::kDirectml) return "DirectML";
  return report.target == OptimizeTarget::kOrt ? "ONNX Runtime" : "a portable runtime";
}

std::vector<report::NoteView> unsupported(const OptimizeReport& report) {
  std::vector<report::NoteView> notes;
  for (const Finding& finding : report.unsupported)
    notes.push_back({.code = finding.code,
                     .where = finding.where.node.empty() ? std::string_view("the model") : finding.where.node,
                     .message = finding.message,
                     .at = {}});
  return notes;
}

void write_moved(JsonWriter& json, std::string_view when, const MovedBytes& moved) {
  json.member(fmt::format("bytes_moved_{}", when), moved.bytes);
  json.member(fmt::format("nodes_without_bytes_moved_{}", when), static_cast<int64_t>(moved.unknown));
}

std::string moved_text(const OptimizeReport& report) {
  const auto shown = [](const MovedBytes& one) {
    return fmt::format(
        "{}{}", report::megabytes_text(one.bytes),
        one.unknown > 0 ? fmt::format(" plus {} not counted", report::counted(one.unknown, "node")) : "");
  };
  return fmt::format("bytes read and written, each free size 64: {} -> {}\n", shown(*report.moved_before),
                     shown(*report.moved_after));
}

std::vector<report::NoteView> left_out(const OptimizeReport& report) {
  std::vector<report::NoteView> notes;
  for (const Change& change : report.rejected_passes)
    notes.push_back({.code = {}, .where = change.kind, .message = change.why, .at = {}});
  return notes;
}

// Why nothing was written, and what to do.
std::string unwritten_text(const OptimizeReport& report) {
  constexpr std::string_view kNothing = "nothing was written";
  if (!report.modified() || report.load_check.has_failed()) return fmt::format("{}\n", kNothing);
  if (confirm::all_agree(report.checks))
    return fmt::format("{}: give inputs that run with --input or --values, or pass --no-check\n", kNothing);
  if (report.passes.empty())
    return fmt::format(
        "{}: results differ without any pass too, as with random operators; --no-check writes it unchecked\n",
        kNothing);
  return fmt::format("{}: results differ without fusions too; skip some of these passes with --skip: {}\n", kNothing,
                     fmt::join(report.passes, ","));
}

}  // namespace

std::string to_json(const OptimizeReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  report::write_before_after(json, report::before_after(report));
  if (report.moved_before) write_moved(json, "before", *report.moved_before);
  if (report.moved_after) write_moved(json, "after", *report.moved_after);
  report::write_changes(json, "changed", report.changed);
  report::write_changes(json, "missed", report.missed);
  report::write_changes(json, "rejected_passes", report.rejected_passes);
  json.member("overridable_initializers", static_cast<int64_t>(report.overridable_initializers));
  report::write_checks(json, report.checks);
  report::write_not_compared(json, report.not_compared);
  report::write_proof(json, report.proof);
  report::write_findings(json, report.unsupported);
  report::write_load_check(json, report.load_check);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const OptimizeReport& report, const TextOptions& how) {
  std::string text = report::before_after_text(report::before_after(report));
  if (report.moved_before && report.moved_after) text += moved_text(report);
  if (report.modified()) {
    const std::vector<report::NoteView> notes = changes_by_kind(report, how.all);
    text +=
        how.all ? report::notes_text("changed", notes, true) : report::groups_text("changed", notes, false, "--all");
  }
  if (how.explain && !report.missed.empty())
    text += report::notes_text("not fused", report::reasons(report.missed), true);
  if (!report.rejected_passes.empty()) text += report::notes_text("skipped passes", left_out(report), true);
  if (report.overridable_initializers > 0)
    text += rewrite::describe_replaceable(report.overridable_initializers) + "\n";
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::proof_text(report.proof, how.all);
  text += report::not_compared_text(report.not_compared);
  if (!report.unsupported.empty())
    text +=
        report::notes_text("unsupported by " + std::string(title_of(report)), unsupported(report), how.all, "--all");
  else if (report.target == OptimizeTarget::kDirectml || !report.backend.empty())
    text += fmt::format("{} supports every node\n", title_of(report));
  text += report::load_check_text(report.load_check);
  if (!report.files.empty()) return text + report::written_text(report.files);
  if (report.accepted()) return text + "dry run; nothing was written\n";
  return text + unwritten_text(report);
}

std::string to_html(const OptimizeReport& report) {
  HtmlPage page(fmt::format("thaw optimize: {}", report.model));
  page.verdict(!report.accepted()                           ? Outcome::kBad
               : report.checks.empty() && report.modified() ? Outcome::kOpen
                                                            : Outcome::kGood,
               report::word_of_result(report.accepted(), report.files),
               fmt::format("{} became {}.", report::counted(report.nodes_before, "node"), report.nodes_after));
  report::add_before_after(page, report::before_after(report));
  report::add_load_check(page, report.load_check);
  report::add_notes(page, "Changed", changes_by_kind(report, false));
  report::add_notes(page, "Not fused", report::reasons(report.missed));
  report::add_notes(page, "Skipped passes", left_out(report));
  report::add_notes(page, "Unsupported by " + std::string(title_of(report)), unsupported(report));
  report::add_checked(page, report.checks, report.not_compared);
  report::add_proof(page, report.proof);
  return page.finish();
}

}  // namespace thaw
