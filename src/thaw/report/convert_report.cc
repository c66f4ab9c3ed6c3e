// What `thaw convert` did: which nodes, what stays and why, and what each output loses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "thaw/confirm/conversion.h"
#include "thaw/convert.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"
#include "thaw/report/table.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

constexpr std::string_view kStripStyle =
#include "thaw/report/pages/verify.css.inc"
    ;

std::string decibels(double sqnr) { return std::isinf(sqnr) && sqnr > 0 ? "equal" : fmt::format("{:.1f} dB", sqnr); }

constexpr Dataset kDatasets[] = {Dataset::kHeldOut, Dataset::kCalibration, Dataset::kRandom};

std::string_view word_of(Dataset from) {
  switch (from) {
    case Dataset::kHeldOut:
      return "held_out";
    case Dataset::kCalibration:
      return "calibration";
    case Dataset::kRandom:
      return "random";
  }
  return {};
}

std::string_view word_of(BlockMethod method) {
  switch (method) {
    case BlockMethod::kRtn:
      return "rtn";
    case BlockMethod::kSearch:
      return "search";
    case BlockMethod::kHqq:
      return "hqq";
    case BlockMethod::kGptq:
      return "gptq";
    case BlockMethod::kAwq:
      return "awq";
  }
  return {};
}

std::vector<const OutputComparison*> errors_from(const ConvertReport& report, Dataset from) {
  std::vector<const OutputComparison*> errors;
  for (const OutputComparison& error : report.comparisons)
    if (error.dataset == from) errors.push_back(&error);
  return errors;
}

// Whether it decides: nothing before it in the order does.
bool decides(const ConvertReport& report, Dataset from) {
  return std::ranges::none_of(report.comparisons, [&](const OutputComparison& error) { return error.dataset < from; });
}

// Of one output, over all of its runs.
struct WorstRun {
  const OutputComparison* error = nullptr;  // of the lowest SQNR
  size_t count = 0;
  bool is_finite = true;
};

// Of each output, in the order in which they are compared.
std::vector<WorstRun> worst_runs(const ConvertReport& report, Dataset from) {
  std::vector<WorstRun> worst;
  std::map<std::string, size_t> known;
  for (const OutputComparison* error : errors_from(report, from)) {
    const auto [at, is_new] = known.try_emplace(error->output, worst.size());
    if (is_new) worst.push_back({.error = error});
    WorstRun& run = worst[at->second];
    if (error->sqnr_db < run.error->sqnr_db) run.error = error;
    ++run.count;
    run.is_finite &= error->not_finite == 0;
  }
  return worst;
}

std::string costs_text(const ConvertReport& report, Dataset from) {
  const std::vector<WorstRun> worst = worst_runs(report, from);
  if (worst.empty()) return {};
  report::Table table;
  table.add({"output", "max abs diff", "max |output|", "cosine", "SQNR", "worst of"});
  for (const auto& [error, count, is_finite] : worst)
    table.add({error->output, fmt::format("{:.3g}", error->max_abs_diff),
               fmt::format("{:.3g}", error->max_abs_expected), fmt::format("{:.7f}", error->cosine),
               decibels(error->sqnr_db), fmt::format("{} runs, {}", count, error->name)});
  return fmt::format("accuracy on {}{}\n", confirm::name_of(from),
                     decides(report, from) ? "" : ", for information only") +
         table.text();
}

std::string prefixed(std::string_view heading, const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& each : texts) text += fmt::format("{}: {}\n", heading, report::printable(each));
  return text;
}

// Five steps of what a conversion costs, from hardly anything to nearly all.
size_t heat_of_decibels(double sqnr) {
  constexpr double kSteps[] = {60, 40, 30, 20, 10};
  return static_cast<size_t>(std::ranges::count_if(kSteps, [&](double step) { return sqnr < step; }));
}

// What decides, as a strip: the SQNR of each output in the model's order, of its worst run.
void add_strip(HtmlPage& page, const ConvertReport& report) {
  const auto from = std::ranges::find_if(kDatasets, [&](Dataset one) { return !errors_from(report, one).empty(); });
  if (from == std::end(kDatasets)) return;
  page.style(kStripStyle);
  page.heading(fmt::format("SQNR by output, on {}", confirm::name_of(*from)));
  std::string html = "<div class=\"strip heat\">";
  for (const auto& [error, count, is_finite] : worst_runs(report, *from)) {
    // A number that is none is worse than any noise.
    const double sqnr = is_finite ? error->sqnr_db : -std::numeric_limits<double>::infinity();
    html += fmt::format("<span class=\"h{}\"><b>{}</b> {}</span>", heat_of_decibels(sqnr),
                        report::html_text(error->output), is_finite ? decibels(sqnr) : "not finite");
  }
  page.markup(html + "</div>\n");
}

void add_costs(HtmlPage& page, const ConvertReport& report, Dataset from) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const OutputComparison* error : errors_from(report, from))
    rows.push_back({HtmlCell::code(error->output), HtmlCell::code(error->name), HtmlCell::number(error->max_abs_diff),
                    HtmlCell::number(error->max_abs_expected), HtmlCell::cosine(error->cosine),
                    std::isfinite(error->sqnr_db) ? HtmlCell::number(error->sqnr_db) : HtmlCell::text("equal"),
                    HtmlCell::count(error->elements), HtmlCell::count(error->not_finite)});
  if (rows.empty()) return;
  page.heading(fmt::format("Accuracy on {}", confirm::name_of(from)));
  page.sentence(fmt::format("The result against the original. {}",
                            decides(report, from) ? "These decide warnings and whether the result is written."
                                                  : "For information only: the runs above decide."));
  page.table({"output", "sizes", "max abs diff", "max |output|", "cosine", "SQNR, dB", "elements", "not finite"}, rows);
}

}  // namespace

std::string to_text(const ConvertReport& report, const TextOptions& how) {
  std::string text = report::before_after_text(report::before_after(report));
  text += report::groups_text("converted", report::reasons(report.changed), how.all, "--all");
  if (!report.already_converted.empty())
    text += report::groups_text("already", report::reasons(report.already_converted), how.all, "--all");
  if (!report.not_converted.empty())
    text += report::groups_text("unchanged", report::reasons(report.not_converted), how.all, "--all");
  if (report.method && !report.changed.empty())
    text += fmt::format("block quantization method: {}\n", word_of(*report.method));
  for (const Dataset from : kDatasets) text += costs_text(report, from);
  text += prefixed("warning", report.warnings);
  text += prefixed("error", report.failures);
  text += report::not_compared_text(report.not_compared);
  text += report::load_check_text(report.load_check);
  text += prefixed("unsupported by DirectML", report.unsupported);
  if (report.accepted()) return text + report::written_text(report.files);
  if (report.failures.empty() && !report.load_check.has_failed())
    text += "give inputs with --data or --values if the model does not run on random ones, or pass --no-check\n";
  return text + "nothing was written\n";
}

std::string to_json(const ConvertReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  report::write_output_member(json, report.files);
  json.member("accepted", report.accepted());
  report::write_before_after(json, report::before_after(report));
  report::write_notes(json, "converted", report::reasons(report.changed));
  report::write_notes(json, "already_converted", report::reasons(report.already_converted));
  report::write_notes(json, "not_converted", report::reasons(report.not_converted));
  json.key("method");
  if (report.method)
    json.value(word_of(*report.method));
  else
    json.null();
  json.member_array("comparisons");
  for (const OutputComparison& error : report.comparisons) {
    json.begin_object();
    json.member("dataset", word_of(error.dataset));
    json.member("case", error.name);
    json.member("output", error.output);
    json.member("max_abs_diff", error.max_abs_diff);
    json.member("max_abs_expected", error.max_abs_expected);
    json.member("cosine", error.cosine);
    json.member("sqnr_db", error.sqnr_db);
    json.member("elements", static_cast<int64_t>(error.elements));
    json.member("not_finite", static_cast<int64_t>(error.not_finite));
    json.end_object();
  }
  json.end_array();
  report::write_texts(json, "warnings", report.warnings);
  report::write_texts(json, "failures", report.failures);
  report::write_texts(json, "unsupported", report.unsupported);
  report::write_not_compared(json, report.not_compared);
  report::write_load_check(json, report.load_check);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_html(const ConvertReport& report) {
  HtmlPage page(fmt::format("thaw convert: {}", report.output.empty() ? report.model : report.output));
  const bool is_compared = !report.comparisons.empty();
  page.verdict(!report.accepted() ? Outcome::kBad
               : is_compared      ? Outcome::kGood
                                  : Outcome::kOpen,
               report::word_of_result(report.accepted(), report.files),
               fmt::format("{} converted to fewer bits{}.", report.model,
                           is_compared ? "" : ", not compared with the original"));
  report::add_sentences(page, "Failures", report.failures);
  report::add_sentences(page, "Warnings", report.warnings);
  add_strip(page, report);
  report::add_before_after(page, report::before_after(report));
  if (report.method) page.sentence(fmt::format("Block quantization method: {}.", word_of(*report.method)));
  for (const Dataset from : kDatasets) add_costs(page, report, from);
  report::add_load_check(page, report.load_check);
  report::add_sentences(page, "Unsupported by DirectML", report.unsupported);
  report::add_sentences(page, "Not compared", report.not_compared);
  report::add_notes(page, "Converted", report::reasons(report.changed), "nodes");
  report::add_notes(page, "Already", report::reasons(report.already_converted), "nodes");
  report::add_notes(page, "Unchanged", report::reasons(report.not_converted), "nodes");
  std::vector<std::string> paths;
  for (const auto& path : report.files) paths.push_back(path.string());
  report::add_sentences(page, "Files", paths);
  return page.finish();
}

}  // namespace thaw
