// What `thaw check` found, of one model or several: text, JSON, pages, and what code scanning and GitHub's actions read.
#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/check.h"
#include "thaw/report/findings.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/style.h"
#include "thaw/report/target_support.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

constexpr size_t kMostPerRule = 8;  // in text, unless all are asked for

// What the model states of its inputs, where it does: a proof rests on it.
std::string assumed_text(const SizeProof& proof) {
  return proof.assumptions.empty() ? "" : fmt::format(", as the model states: {}", fmt::join(proof.assumptions, ", "));
}

std::string counts_of(const SizeProof& proof) {
  std::string text = fmt::format("{} size conditions: {} proven, {} refuted, {} unknown", proof.obligations,
                                 proof.proven, proof.refuted, proof.unknown);
  if (proof.unknown_values > 0) text += fmt::format(" ({} about values, not sizes)", proof.unknown_values);
  if (proof.input_conditions > 0) text += fmt::format(", {} decided by input values", proof.input_conditions);
  return text + assumed_text(proof);
}

std::string proof_text(const SizeProof& proof) {
  if (proof.obligations == 0)
    return fmt::format("proof: every size condition follows from the ranges{}\n", assumed_text(proof));
  return fmt::format("proof: {}\n", counts_of(proof));
}

void write_checked(JsonWriter& json, const CheckedFile& file) {
  json.member("model", file.report.model);
  if (file.error) return report::write_error(json, *file.error);
  json.member("accepted", file.accepted());
  report::write_findings(json, file.report.findings);
  if (!file.report.suppressed.empty())
    report::write_map(json, "suppressed", report::counts_by_rule(file.report.suppressed), report::kLine);
  json.member("overridable_initializers", file.report.overridable_initializers);
  report::write_targets(json, file.report.targets);
  if (!file.report.is_proven) return;
  const SizeProof& proof = file.report.proof;
  json.member_object("proof");
  json.member("obligations", proof.obligations);
  json.member("proven", proof.proven);
  json.member("refuted", proof.refuted);
  json.member("unknown", proof.unknown);
  json.member("unknown_values", proof.unknown_values);
  json.member("input_conditions", proof.input_conditions);
  json.member_array("assumptions");
  for (const std::string& entry : proof.assumptions) json.value(entry);
  json.end_array();
  json.end_object();
}

std::vector<report::CheckedModel> checked_models(std::span<const CheckedFile> files) {
  std::vector<report::CheckedModel> models;
  for (const CheckedFile& file : files)
    models.push_back({file.report.model, file.report.findings, file.report.suppressed, !file.error});
  return models;
}

const CheckSettings& settings_of(std::span<const CheckedFile> files) {
  static const CheckSettings kNone;
  return files.empty() ? kNone : files.front().settings;
}

// Of several models that were compared with several targets.
std::vector<report::TargetsOfModel> targets_by_model(std::span<const CheckedFile> files) {
  std::vector<report::TargetsOfModel> models;
  for (const CheckedFile& file : files)
    if (files.size() > 1 && file.report.targets.size() > 1) models.emplace_back(file.report.model, file.report.targets);
  return models;
}

std::string suppressed_text(const CheckedFile& file) {
  if (file.report.suppressed.empty()) return {};
  return fmt::format("{} turned off by {}: {}", report::counted(file.report.suppressed.size(), "finding"),
                     file.settings.file, report::by_rule(file.report.suppressed));
}

void write_settings(JsonWriter& json, const CheckSettings& settings) {
  if (settings.file.empty() && settings.ignored.empty()) return;
  json.member_object("settings");
  json.optional_member("file", settings.file);
  report::write_texts(json, "applied", settings.applied);
  report::write_texts(json, "ignored", settings.ignored);
  json.end_object();
}

Outcome severity_outcome(Severity severity) {
  return severity == Severity::kError     ? Outcome::kBad
         : severity == Severity::kWarning ? Outcome::kOpen
                                          : Outcome::kGood;
}

void add_findings(HtmlPage& page, const std::vector<Finding>& findings) {
  std::map<std::pair<int, std::string>, std::vector<const Finding*>> by_rule;  // the worst first
  for (const Finding& finding : findings)
    by_rule[{-static_cast<int>(finding.severity), finding.code}].push_back(&finding);
  for (const auto& [key, found] : by_rule) {
    const Finding& first = *found.front();
    page.heading(fmt::format("{} {} ({})", first.code, first.title, report::name_of(first.severity)));
    if (!first.consequence.empty()) page.sentence(fmt::format("Consequence: {}.", first.consequence));
    if (!first.fix.empty()) page.sentence(fmt::format("Fix: {}.", first.fix));
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
      rows.push_back({HtmlCell::verdict(severity_outcome(finding->severity), report::describe(finding->where)),
                      HtmlCell::text(finding->message)});
      if (has_source) rows.back().push_back(HtmlCell::text(finding->source));
      if (has_more) rows.back().push_back(HtmlCell::list(more));
    }
    page.table(columns, rows);
  }
}

void add_modules(HtmlPage& page, const CheckReport& report) {
  page.heading("The graph by module");
  page.sentence("In execution order: the outputs of each module, their sizes, and its findings.");
  std::vector<std::vector<HtmlCell>> rows;
  for (const ModuleSummary& module : report.modules) {
    rows.push_back({HtmlCell::code(module.name), HtmlCell::count(module.nodes), HtmlCell::code(module.output),
                    module.nodes_with_findings == 0
                        ? HtmlCell::text("")
                        : HtmlCell::verdict(Outcome::kBad, report::counted(module.nodes_with_findings, "node")),
                    HtmlCell::list(module.findings)});
  }
  page.table({"module", "nodes", "outputs", "marked", "findings"}, rows);
  if (report.more_modules > 0)
    page.sentence(fmt::format("{} more modules are left out.", report::grouped(report.more_modules)));
}

void add_checked_model(HtmlPage& page, const CheckedFile& file) {
  const SizeProof& proof = file.report.proof;
  if (proof.obligations > 0) page.sentence(fmt::format("Over the given sizes: {}.", counts_of(proof)));
  if (file.report.overridable_initializers > 0)
    page.sentence(rewrite::describe_taken_weights(file.report.overridable_initializers));
  report::add_targets(page, file.report.targets);
  add_findings(page, file.report.findings);
  if (const std::string text = suppressed_text(file); !text.empty()) page.sentence(text);
  add_modules(page, file.report);
}

std::pair<Outcome, std::string_view> check_outcome(const CheckedFile& file) {
  if (file.error) return {Outcome::kBad, "not checked"};
  const report::FindingCounts counts = report::count(file.report.findings);
  if (!report::worth_failing(counts)) return {Outcome::kGood, "fine"};
  return {counts.errors > 0 ? Outcome::kBad : Outcome::kOpen, "findings"};
}

std::string check_words(const CheckedFile& file) {
  return file.error ? std::string(file.error->what()) : report::describe(report::count(file.report.findings));
}

std::string page_of_one(const CheckedFile& file) {
  HtmlPage page(fmt::format("thaw check: {}", file.report.model));
  const auto [outcome, word] = check_outcome(file);
  page.verdict(outcome, word, check_words(file));
  for (const std::string& sentence : report::settings_sentences(file.settings)) page.sentence(sentence);
  add_checked_model(page, file);
  return page.finish();
}

}  // namespace

std::string to_html(std::span<const CheckedFile> files) {
  if (files.size() == 1 && !files.front().error) return page_of_one(files.front());
  HtmlPage page(fmt::format("thaw check: {}", report::counted(files.size(), "model")));
  Outcome worst = Outcome::kGood;
  size_t failed = 0;
  std::vector<std::vector<HtmlCell>> rows;
  for (const CheckedFile& file : files) {
    const auto [outcome, word] = check_outcome(file);
    if (outcome == Outcome::kBad || worst == Outcome::kGood) worst = outcome;
    failed += outcome == Outcome::kGood ? 0 : 1;
    rows.push_back(
        {HtmlCell::code(file.report.model), HtmlCell::verdict(outcome, word), HtmlCell::text(check_words(file))});
  }
  page.verdict(worst, failed > 0 ? "findings" : "fine",
               fmt::format("{} of {} with errors or warnings", failed, report::counted(files.size(), "model")));
  for (const std::string& sentence : report::settings_sentences(settings_of(files))) page.sentence(sentence);
  page.table({"model", "outcome", "what was found"}, rows);
  report::add_target_matrix(page, targets_by_model(files));
  for (const CheckedFile& file : files) {
    if (file.error) continue;
    page.heading(file.report.model);
    add_checked_model(page, file);
  }
  return page.finish();
}

std::string to_json(std::span<const CheckedFile> files) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  write_settings(json, settings_of(files));
  if (files.size() == 1) {
    write_checked(json, files.front());
  } else {
    json.member_array("models");
    for (const CheckedFile& file : files) {
      json.begin_object();
      write_checked(json, file);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return text + "\n";
}

std::string to_text(std::span<const CheckedFile> files, const TextOptions& how) {
  std::string text;
  size_t failed = 0;
  for (const CheckedFile& file : files) {
    failed += file.accepted() ? 0 : 1;
    if (file.error) continue;
    text += (text.empty() ? "" : "\n") +
            report::findings_text(file.report.model, file.report.findings, report::Style(how.colour),
                                  how.all ? std::numeric_limits<size_t>::max() : kMostPerRule);
    text += rewrite::describe_taken_weights(file.report.overridable_initializers);
    text += report::targets_text(file.report.targets);
    if (const std::string off = suppressed_text(file); !off.empty()) text += report::printable(off) + "\n";
    if (file.report.is_proven) text += proof_text(file.report.proof);
  }
  if (const std::string matrix = report::target_matrix_text(targets_by_model(files)); !matrix.empty())
    text += "\n" + matrix;
  if (files.size() > 1) text += fmt::format("\n{} models, {} with errors or warnings\n", files.size(), failed);
  for (const std::string& sentence : report::settings_sentences(settings_of(files)))
    text += report::printable(sentence) + "\n";
  return text;
}

std::string to_sarif(std::span<const CheckedFile> files) {
  return report::findings_sarif(checked_models(files), settings_of(files));
}
std::string to_github(std::span<const CheckedFile> files) {
  return report::findings_github(checked_models(files), settings_of(files));
}

std::string to_json(const CheckReport& report) { return to_json(std::vector<CheckedFile>{{.report = report}}); }
std::string to_text(const CheckReport& report, const TextOptions& how) {
  return to_text(std::vector<CheckedFile>{{.report = report}}, how);
}
std::string to_html(const CheckReport& report) { return to_html(std::vector<CheckedFile>{{.report = report}}); }
std::string to_sarif(const CheckReport& report) { return to_sarif(std::vector<CheckedFile>{{.report = report}}); }
std::string to_github(const CheckReport& report) { return to_github(std::vector<CheckedFile>{{.report = report}}); }

}  // namespace thaw
