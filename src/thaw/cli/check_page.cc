#include "thaw/cli/check_page.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "thaw/report/findings.h"
#include "thaw/report/html_page.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

using report::HtmlCell;
using report::Outcome;

Outcome outcome_of(Severity severity) {
  return severity == Severity::kError     ? Outcome::kBad
         : severity == Severity::kWarning ? Outcome::kOpen
                                          : Outcome::kGood;
}

void add_findings(report::HtmlPage& page, const std::vector<Finding>& findings) {
  std::map<std::pair<int, std::string>, std::vector<const Finding*>> by_rule;  // the worst first
  for (const Finding& finding : findings)
    by_rule[{-static_cast<int>(finding.severity), finding.code}].push_back(&finding);
  for (const auto& [key, found] : by_rule) {
    const Finding& first = *found.front();
    page.heading(fmt::format("{} {} ({})", first.code, first.title, report::name_of(first.severity)));
    if (!first.happens.empty()) page.sentence(fmt::format("What happens: {}.", first.happens));
    if (!first.fix.empty()) page.sentence(fmt::format("What mends it: {}.", first.fix));
    for (const std::string& command : first.commands)
      page.markup(fmt::format("<pre><code>{}</code></pre>\n", report::html_text(command)));
    // Columns that say nothing of any of them are left out.
    const bool has_source = std::ranges::any_of(found, [](const Finding* f) { return !f->source.empty(); });
    const bool has_more =
        std::ranges::any_of(found, [](const Finding* f) { return !f->details.empty() || !f->related.empty(); });
    std::vector<std::string> columns{"where", "what"};
    if (has_source) columns.emplace_back("comes from");
    if (has_more) columns.emplace_back("more");
    std::vector<std::vector<HtmlCell>> rows;
    for (const Finding* finding : found) {
      std::vector<std::string> more;
      for (const auto& [name, text] : finding->details) more.push_back(fmt::format("{}: {}", name, text));
      for (const Related& related : finding->related)
        more.push_back(fmt::format("{}: {}", report::describe(related.where), related.message));
      rows.push_back({HtmlCell::verdict(outcome_of(finding->severity), report::describe(finding->where)),
                      HtmlCell::text(finding->message)});
      if (has_source) rows.back().push_back(HtmlCell::text(finding->source));
      if (has_more) rows.back().push_back(HtmlCell::list(more));
    }
    page.table(columns, rows);
  }
}

void add_modules(report::HtmlPage& page, const Modules& modules) {
  page.heading("The graph by module");
  page.sentence(
      "In the order in which they first run: what comes out of each, with its sizes, and the findings in it.");
  std::vector<std::vector<HtmlCell>> rows;
  for (const Module& module : modules.first) {
    rows.push_back({HtmlCell::code(module.name), HtmlCell::count(module.nodes), HtmlCell::code(module.comes_out),
                    module.marked == 0 ? HtmlCell::text("")
                                       : HtmlCell::verdict(Outcome::kBad, report::counted(module.marked, "node")),
                    HtmlCell::list(module.findings)});
  }
  page.table({"module", "nodes", "comes out", "marked", "findings"}, rows);
  if (modules.more > 0) page.sentence(fmt::format("{} more modules are left out.", report::grouped(modules.more)));
}

void add_model(report::HtmlPage& page, const CheckedFile& file) {
  const SizeProof& proof = file.report.proof;
  if (proof.statements > 0)
    page.sentence(
        fmt::format("Over the sizes that were asked for: {} statements about sizes, {} proven, {} broken, {} open.",
                    proof.statements, proof.proven, proof.broken, proof.open));
  add_findings(page, file.report.findings);
  add_modules(page, file.modules);
}

std::pair<Outcome, std::string_view> outcome_of(const CheckedFile& file) {
  if (file.error) return {Outcome::kBad, "not checked"};
  const report::FindingCounts counts = report::count(file.report.findings);
  if (!report::worth_failing(counts)) return {Outcome::kGood, "fine"};
  return {counts.errors > 0 ? Outcome::kBad : Outcome::kOpen, "findings"};
}

std::string words_of(const CheckedFile& file) {
  return file.error ? std::string(file.error->what()) : report::describe(report::count(file.report.findings));
}

std::string page_of_one(const CheckedFile& file) {
  report::HtmlPage page(fmt::format("thaw check: {}", file.path));
  const auto [outcome, word] = outcome_of(file);
  page.verdict(outcome, word, words_of(file));
  add_model(page, file);
  return page.finish();
}

}  // namespace

std::string check_page(const std::vector<CheckedFile>& files) {
  if (files.size() == 1 && !files.front().error) return page_of_one(files.front());
  report::HtmlPage page(fmt::format("thaw check: {}", report::counted(files.size(), "model")));
  Outcome worst = Outcome::kGood;
  size_t failed = 0;
  std::vector<std::vector<HtmlCell>> rows;
  for (const CheckedFile& file : files) {
    const auto [outcome, word] = outcome_of(file);
    if (outcome == Outcome::kBad || worst == Outcome::kGood) worst = outcome;
    failed += outcome == Outcome::kGood ? 0 : 1;
    rows.push_back({HtmlCell::code(file.path), HtmlCell::verdict(outcome, word), HtmlCell::text(words_of(file))});
  }
  page.verdict(worst, failed > 0 ? "findings" : "fine",
               fmt::format("{} of {} with findings that count", failed, report::counted(files.size(), "model")));
  page.table({"model", "outcome", "what was found"}, rows);
  for (const CheckedFile& file : files) {
    if (file.error) continue;
    page.heading(file.path);
    add_model(page, file);
  }
  return page.finish();
}

}  // namespace thaw::cli
