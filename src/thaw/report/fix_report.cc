// What `thaw fix` changed and left, and how the result did beside the model or in the cases of a reference.
#include <algorithm>

#include <fmt/format.h>

#include "thaw/fix.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
#include "thaw/report/run_checks.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

std::string to_json(const FixReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  report::write_notes(json, "changed", report::views(report.changed));
  report::write_notes(json, "remaining", report::views(report.remaining));
  report::write_checks(json, report.checks);
  report::write_not_compared(json, report.not_compared);
  report::write_proof(json, report.proof);
  report::write_load_check(json, report.load_check);
  json.member("overridable_initializers", report.overridable_initializers);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const FixReport& report, const TextOptions& how) {
  std::string text;
  if (report.modified()) text += report::notes_text("changed", report::views(report.changed), how.all);
  if (!report.remaining.empty()) text += report::notes_text("unresolved", report::views(report.remaining), how.all);
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::proof_text(report.proof, how.all);
  text +=
      report::not_compared_text(report.not_compared) + rewrite::describe_taken_weights(report.overridable_initializers);
  text += report::load_check_text(report.load_check);
  if (!report.files.empty()) return text + report::written_text(report.files);
  if (!report.modified()) return text + "nothing to change; nothing was written\n";
  return text + (report.accepted() ? "dry run; nothing was written\n" : "nothing was written\n");
}

std::string to_html(const FixReport& report) {
  HtmlPage page(fmt::format("thaw fix: {}", report.model));
  const bool is_compared = !report.checks.empty();
  page.verdict(!report.accepted()                  ? Outcome::kBad
               : !report.modified() || is_compared ? Outcome::kGood
                                                   : Outcome::kOpen,
               report::word_of_result(report.accepted(), report.files),
               !report.modified()               ? "Nothing to change."
               : report.load_check.has_failed() ? "ONNX Runtime rejects the result. Nothing was written."
               : !report.accepted()
                   ? "Its results differ from the original's. Nothing was written."
                   : fmt::format("{} changed, {} unresolved.", report::counted(report.changed.size(), "location"),
                                 report.remaining.size()));
  report::add_load_check(page, report.load_check);
  report::add_notes(page, "Changed", report::views(report.changed));
  report::add_notes(page, "Unresolved", report::views(report.remaining));
  report::add_checked(page, report.checks, report.not_compared);
  report::add_proof(page, report.proof);
  if (report.overridable_initializers > 0)
    page.sentence(rewrite::describe_taken_weights(report.overridable_initializers));
  return page.finish();
}

std::string to_json(const FixReferenceReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  report::write_symbols(json, report::views(report.symbols));
  report::write_notes(json, "changed", report::views(report.changed));
  report::write_notes(json, "remaining", report::views(report.remaining));
  json.member_array("cases");
  for (const ReferenceCase& one : report.cases) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("case", one.name);
    json.member("sizes", one.sizes);
    json.member("agrees", one.agrees);
    json.member("max_abs_diff", one.max_abs_diff);
    json.optional_member("message", one.reason);
    json.end_object();
  }
  json.end_array();
  json.member("tries", report.tries);
  report::write_texts(json, "notes", report.notes);
  report::write_load_check(json, report.load_check);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const FixReferenceReport& report, const TextOptions& how) {
  std::string text = report::notes_text("sizes", report::views(report.symbols), how.all);
  const bool wrong = !report.all_agree;
  if (!report.changed.empty())
    text += report::notes_text(wrong ? "proposed, not confirmed" : "changed", report::views(report.changed), how.all);
  if (!report.remaining.empty()) text += report::notes_text("unresolved", report::views(report.remaining), how.all);
  for (const ReferenceCase& one : report.cases) {
    const std::string name = one.name.empty() ? "the case" : fmt::format("case '{}'", one.name);
    text += fmt::format("{} {} ({}): ", one.agrees ? "agrees with" : "DIFFERS from", report::printable(name),
                        report::printable(one.sizes));
    text += one.agrees ? fmt::format("max abs diff {:.3g}\n", one.max_abs_diff) : report::printable(one.reason) + "\n";
  }
  if (report.tries > 0) text += fmt::format("candidates tried: {}\n", report.tries);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", report::printable(note));
  text += report::load_check_text(report.load_check);
  if (!report.files.empty()) {
    text += report::written_text(report.files);
  } else if (report.load_check.has_failed()) {
    text += "nothing was written\n";
  } else if (wrong) {
    text += "the reference does not confirm it; nothing was written\n";
  } else {
    text += report.modified() ? "dry run; nothing was written\n" : "nothing to change; nothing was written\n";
  }
  return text;
}

std::string to_html(const FixReferenceReport& report) {
  HtmlPage page(fmt::format("thaw fix --reference: {}", report.model));
  page.verdict(report.accepted() ? Outcome::kGood : Outcome::kBad, report.accepted() ? "confirmed" : "not confirmed",
               fmt::format("{} of {} agree.", std::ranges::count(report.cases, true, &ReferenceCase::agrees),
                           report::counted(report.cases.size(), "case")));
  report::add_load_check(page, report.load_check);
  report::add_notes(page, "Sizes", report::views(report.symbols));
  report::add_notes(page, report.accepted() ? "Changed" : "Proposed, not confirmed", report::views(report.changed));
  report::add_notes(page, "Unresolved", report::views(report.remaining));
  std::vector<std::vector<HtmlCell>> rows;
  for (const ReferenceCase& one : report.cases)
    rows.push_back({HtmlCell::verdict(one.agrees ? Outcome::kGood : Outcome::kBad, one.agrees ? "agrees" : "differs"),
                    HtmlCell::code(one.name), HtmlCell::code(one.sizes), HtmlCell::number(one.max_abs_diff),
                    HtmlCell::text(one.reason)});
  page.heading("Cases of the reference");
  page.table({"", "case", "sizes", "max abs diff", "why"}, rows);
  report::add_sentences(page, "Notes", report.notes);
  return page.finish();
}

}  // namespace thaw
