#include "thaw/cli/convert_page.h"

#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "thaw/cli/convert_report.h"
#include "thaw/cli/notes.h"
#include "thaw/report/html_page.h"

namespace thaw::cli {
namespace {

using report::HtmlCell;
using report::Outcome;

void add_costs(report::HtmlPage& page, const std::vector<OutputError>& errors) {
  if (errors.empty()) return;
  std::vector<std::vector<HtmlCell>> rows;
  for (const OutputError& error : errors)
    rows.push_back({HtmlCell::code(error.output), HtmlCell::code(error.sizes), HtmlCell::number(error.max_abs),
                    HtmlCell::number(error.largest), HtmlCell::number(error.cosine),
                    std::isfinite(error.sqnr) ? HtmlCell::number(error.sqnr) : HtmlCell::text("equal"),
                    HtmlCell::count(error.elements), HtmlCell::count(error.broken)});
  page.heading("Cost");
  page.sentence("The result beside the model, on samples and at sizes that were not looked at before.");
  page.table({"output", "sizes", "largest error", "of", "cosine", "signal to noise, dB", "elements", "broken"}, rows);
}

void add_changes(report::HtmlPage& page, std::string_view heading, const std::vector<Change>& changes) {
  if (changes.empty()) return;
  const std::vector<NoteView> notes = convert_notes(changes);
  std::vector<std::vector<HtmlCell>> rows;
  for (const NoteGroup& group : grouped_notes(notes))
    rows.push_back({HtmlCell::text(group.message), HtmlCell::count(group.where.size()), HtmlCell::list(group.where)});
  page.heading(heading);
  page.table({"what", "nodes", "where"}, rows);
}

void add_lines(report::HtmlPage& page, std::string_view heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  page.heading(heading);
  for (const std::string& line : lines) page.sentence(line);
}

}  // namespace

std::string convert_page(const std::string& model, const std::string& output, const ConvertReport& report,
                         const Written& files) {
  report::HtmlPage page(fmt::format("thaw convert: {}", output));
  const bool is_written = !files.empty(), is_compared = !report.errors.empty();
  page.verdict(!is_written   ? Outcome::kBad
               : is_compared ? Outcome::kGood
                             : Outcome::kOpen,
               is_written ? "written" : "not written",
               fmt::format("{} in fewer bits{}.", model, is_compared ? "" : ", not compared with what it was made of"));
  page.table({"", "before", "after"},
             {{HtmlCell::text("nodes"), HtmlCell::count(report.nodes_before), HtmlCell::count(report.nodes_after)},
              {HtmlCell::text("constants, bytes"), HtmlCell::count(report.weights_before),
               HtmlCell::count(report.weights_after)}});
  add_costs(page, report.errors);
  add_lines(page, "Failures", report.failures);
  add_lines(page, "Warnings", report.warnings);
  add_lines(page, "Not compared", report.uncompared);
  add_changes(page, "Converted", report.changed);
  add_changes(page, "Kept", report.left);
  std::vector<std::string> paths;
  for (const auto& path : files) paths.push_back(path.string());
  add_lines(page, "Files", paths);
  return page.finish();
}

}  // namespace thaw::cli
