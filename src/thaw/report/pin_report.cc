// What `thaw pin` made: the sizes, what follows from them, what is still no number, and how the result did beside the model.
#include <fmt/format.h>

#include "thaw/pin.h"
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

void write_pinned(JsonWriter& json, const PinReport& report, bool is_written) {
  json.begin_object();
  report::write_output_member(json, is_written ? report.output : std::string());
  report::write_map(json, "sizes", report.sizes);
  json.member("nodes_before", static_cast<int64_t>(report.nodes_before));
  json.member("nodes_after", static_cast<int64_t>(report.nodes_after));
  report::write_changes(json, "changed", report.changed);
  json.member_array("dynamic_axes");
  for (const DynamicAxis& open : report.dynamic_axes) {
    json.begin_object();
    json.member("tensor", open.tensor);
    json.member("axis", static_cast<int64_t>(open.axis));
    json.member("size", open.size);
    json.member("message", open.why);
    json.end_object();
  }
  json.end_array();
  report::write_checks(json, report.checks);
  report::write_not_compared(json, report.not_compared);
  report::write_proof(json, report.proof);
  json.member("overridable_initializers", report.overridable_initializers);
  json.end_object();
}

std::string pinned_text(const PinReport& report, bool is_one_of_several, bool all) {
  std::string text;
  if (is_one_of_several) text += report::printable(report.output) + "\n";
  text += fmt::format("nodes: {} -> {}\n", report.nodes_before, report.nodes_after);
  std::vector<Note> pinned, open;
  for (const Change& change : report.changed)
    if (change.kind.starts_with("pin")) pinned.push_back({change.location, change.message(), {}});
  for (const DynamicAxis& size : report.dynamic_axes)
    open.push_back({fmt::format("{} axis {}{}", size.tensor, size.axis, size.size.empty() ? "" : " = " + size.size),
                    size.why,
                    {}});
  text += report::notes_text("pinned", report::views(pinned), true);
  text += open.empty() ? "every size is static\n" : report::notes_text("still dynamic", report::views(open), true);
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::proof_text(report.proof, all);
  return text + report::not_compared_text(report.not_compared) +
         rewrite::describe_taken_weights(report.overridable_initializers);
}

void add_pinned(HtmlPage& page, const PinReport& report) {
  page.sentence(fmt::format("{} became {}.", report::counted(report.nodes_before, "node"), report.nodes_after));
  report::add_notes(page, "Changed", report::views(report.changed));
  std::vector<std::vector<HtmlCell>> rows;
  for (const DynamicAxis& open : report.dynamic_axes)
    rows.push_back({HtmlCell::code(open.tensor), HtmlCell::count(static_cast<uint64_t>(open.axis)),
                    HtmlCell::code(open.size), HtmlCell::text(open.why)});
  if (!rows.empty()) {
    page.heading("Still dynamic");
    page.table({"tensor", "axis", "size", "why"}, rows);
  }
  report::add_checked(page, report.checks, report.not_compared);
  report::add_proof(page, report.proof);
  if (report.overridable_initializers > 0)
    page.sentence(rewrite::describe_taken_weights(report.overridable_initializers));
}

PinnedModels as_one_of_one(const PinReport& report) {
  return {.model = report.model, .files = report.files, .load_check = report.load_check, .reports = {report}};
}

}  // namespace

std::string to_json(const PinnedModels& pinned) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", pinned.model);
  json.member("accepted", pinned.accepted());
  json.member_array("models");
  for (const PinReport& report : pinned.reports) write_pinned(json, report, !pinned.files.empty());
  json.end_array();
  report::write_load_check(json, pinned.load_check);
  report::write_files_member(json, pinned.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const PinnedModels& pinned, const TextOptions& how) {
  std::string text;
  for (const PinReport& report : pinned.reports) text += pinned_text(report, pinned.reports.size() > 1, how.all);
  text += report::load_check_text(pinned.load_check);
  if (!pinned.accepted()) return text + "nothing was written\n";
  return text + report::written_text(pinned.files);
}

std::string to_html(const PinnedModels& pinned) {
  HtmlPage page(fmt::format("thaw pin: {}", pinned.model));
  page.verdict(pinned.accepted() ? Outcome::kGood : Outcome::kBad,
               report::word_of_result(pinned.accepted(), pinned.files),
               fmt::format("{} for chosen sizes.", report::counted(pinned.reports.size(), "model")));
  report::add_load_check(page, pinned.load_check);
  for (const PinReport& report : pinned.reports) {
    if (pinned.reports.size() > 1) page.heading(report.output);
    add_pinned(page, report);
  }
  return page.finish();
}

std::string to_json(const PinReport& report) { return to_json(as_one_of_one(report)); }
std::string to_text(const PinReport& report, const TextOptions& how) { return to_text(as_one_of_one(report), how); }
std::string to_html(const PinReport& report) { return to_html(as_one_of_one(report)); }

}  // namespace thaw
