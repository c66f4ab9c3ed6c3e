// What `thaw convert` did: which nodes, what stays and why, and what each output loses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "thaw/confirm/conversion.h"
#include "thaw/convert.h"
#include "thaw/ops/target/target.h"
#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/notes.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
#include "thaw/report/run_checks.h"
#include "thaw/report/table.h"

namespace thaw {
namespace {

constexpr report::ProofWords kButForConstants{.open = "not proven but for its constants"};

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

constexpr std::string_view kStripStyle =
#include "thaw/report/pages/verify.css.inc"
    ;

std::string_view title_of(const ConvertReport& report) {
  const ops::Target* target = ops::find_target(report.target);
  return target ? target->title : "the target";
}

std::string decibels(double sqnr) { return std::isinf(sqnr) && sqnr > 0 ? "equal" : fmt::format("{:.1f} dB", sqnr); }

// An element that is no number is worse than any noise.
double sqnr_of(const OutputComparison& error) {
  return error.not_finite == 0 ? error.sqnr_db : -std::numeric_limits<double>::infinity();
}

std::string sqnr_text(const OutputComparison& error) {
  return error.not_finite == 0 ? decibels(error.sqnr_db) : "not finite";
}

double sqnr_of_layer(const LayerComparison* layer) { return sqnr_of(layer->error); }

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

constexpr size_t kFewLayers = 5;

std::vector<const LayerComparison*> worst_layers_first(const LayerComparisons& compared) {
  std::vector<const LayerComparison*> layers;
  for (const LayerComparison& layer : compared.layers) layers.push_back(&layer);
  std::ranges::stable_sort(layers, {}, sqnr_of_layer);
  return layers;
}

std::string layers_text(const LayerComparisons& compared, bool all) {
  std::vector<const LayerComparison*> layers = worst_layers_first(compared);
  // What is equal needs no look; what is worst comes first.
  if (!all) {
    std::erase_if(layers, [](const LayerComparison* layer) {
      return std::isinf(sqnr_of_layer(layer)) && sqnr_of_layer(layer) > 0;
    });
    if (layers.size() > kFewLayers) layers.resize(kFewLayers);
  }
  if (layers.empty()) return {};
  report::Table table;
  table.add({"layer", "operator", "SQNR"});
  for (const LayerComparison* layer : layers) table.add({layer->node, layer->op_type, sqnr_text(layer->error)});
  const std::string more =
      layers.size() < compared.layers.size()
          ? fmt::format(", the lowest {} of {} layers (--all lists them)", layers.size(), compared.layers.size())
          : "";
  return fmt::format("SQNR by layer at {}{}\n", report::printable(compared.name), more) + table.text();
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

// One of the strip's cells.
std::string strip_cell(const std::string& name, double sqnr, const std::string& text) {
  return fmt::format("<span class=\"h{}\"><b>{}</b> {}</span>", heat_of_decibels(sqnr), report::html_text(name), text);
}

// Each layer in topological order, so that one sees where the accuracy goes.
void add_layers(HtmlPage& page, const LayerComparisons& compared) {
  if (compared.layers.empty()) return;
  page.heading(fmt::format("SQNR by layer, at {}", compared.name));
  std::string html = "<div class=\"strip heat\">";
  for (const LayerComparison& layer : compared.layers)
    html += strip_cell(layer.node, sqnr_of(layer.error), sqnr_text(layer.error));
  page.markup(html + "</div>\n");
  if (compared.not_measured > 0)
    page.sentence(
        fmt::format("{} layers were not measured: their outputs would take more than 512 MiB.", compared.not_measured));
}

// What decides, as a strip: the SQNR of each output in the model's order, of its worst run.
void add_strip(HtmlPage& page, const ConvertReport& report) {
  const auto from = std::ranges::find_if(kDatasets, [&](Dataset one) { return !errors_from(report, one).empty(); });
  if (from == std::end(kDatasets)) return;
  page.style(kStripStyle);
  page.heading(fmt::format("SQNR by output, on {}", confirm::name_of(*from)));
  std::string html = "<div class=\"strip heat\">";
  for (const auto& [error, count, is_finite] : worst_runs(report, *from)) {
    const double sqnr = is_finite ? error->sqnr_db : -std::numeric_limits<double>::infinity();
    html += strip_cell(error->output, sqnr, is_finite ? decibels(sqnr) : "not finite");
  }
  page.markup(html + "</div>\n");
}

std::vector<HtmlCell> figures(const OutputComparison& error) {
  return {HtmlCell::number(error.max_abs_diff),
          HtmlCell::number(error.max_abs_expected),
          HtmlCell::cosine(error.cosine),
          std::isfinite(error.sqnr_db) ? HtmlCell::number(error.sqnr_db) : HtmlCell::text("equal"),
          HtmlCell::count(error.elements),
          HtmlCell::count(error.not_finite)};
}

void add_costs(HtmlPage& page, const ConvertReport& report, Dataset from) {
  std::vector<std::vector<HtmlCell>> rows;
  for (const OutputComparison* error : errors_from(report, from)) {
    std::vector<HtmlCell> row{HtmlCell::code(error->output), HtmlCell::code(error->name)};
    for (HtmlCell& cell : figures(*error)) row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return;
  page.heading(fmt::format("Accuracy on {}", confirm::name_of(from)));
  page.sentence(fmt::format("The result against the original. {}",
                            decides(report, from) ? "These decide warnings and whether the result is written."
                                                  : "For information only: the runs above decide."));
  page.table({"output", "sizes", "max abs diff", "max |output|", "cosine", "SQNR, dB", "elements", "not finite"}, rows);
}

void add_layer_costs(HtmlPage& page, const LayerComparisons& compared) {
  if (compared.layers.empty()) return;
  std::vector<std::vector<HtmlCell>> rows;
  for (const auto& [node, op_type, error] : compared.layers) {
    std::vector<HtmlCell> row{HtmlCell::code(node), HtmlCell::text(op_type), HtmlCell::code(error.output)};
    for (HtmlCell& cell : figures(error)) row.push_back(std::move(cell));
    rows.push_back(std::move(row));
  }
  page.heading(fmt::format("Layers on {}, at {}", confirm::name_of(compared.dataset), compared.name));
  page.sentence("In the order of the model. The errors of earlier layers are in the figures of later ones.");
  page.table(
      {"layer", "operator", "output", "max abs diff", "max |output|", "cosine", "SQNR, dB", "elements", "not finite"},
      rows);
}

void write_error(JsonWriter& json, const OutputComparison& error) {
  json.member("output", error.output);
  json.member("max_abs_diff", error.max_abs_diff);
  json.member("max_abs_expected", error.max_abs_expected);
  json.member("cosine", error.cosine);
  json.member("sqnr_db", error.sqnr_db);
  json.member("elements", static_cast<int64_t>(error.elements));
  json.member("not_finite", static_cast<int64_t>(error.not_finite));
}

void write_layers(JsonWriter& json, const LayerComparisons& compared) {
  json.key("layers");
  if (compared.layers.empty()) return json.null();
  json.begin_object();
  json.member("dataset", word_of(compared.dataset));
  json.member("case", compared.name);
  json.member("not_measured", static_cast<int64_t>(compared.not_measured));
  json.member_array("layers");
  for (const LayerComparison& layer : compared.layers) {
    json.begin_object();
    json.member("node", layer.node);
    json.member("op_type", layer.op_type);
    write_error(json, layer.error);
    json.end_object();
  }
  json.end_array();
  json.end_object();
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
  text += layers_text(report.layers, how.all);
  text += report::proof_text(report.proof, how.all, kButForConstants);
  text += prefixed("warning", report.warnings);
  text += prefixed("error", report.failures);
  text += report::not_compared_text(report.not_compared);
  text += report::load_check_text(report.load_check);
  text += report::ran_on_text(report.runtime);
  text += prefixed(fmt::format("unsupported by {}", title_of(report)), report.unsupported);
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
    write_error(json, error);
    json.end_object();
  }
  json.end_array();
  write_layers(json, report.layers);
  report::write_proof(json, report.proof);
  report::write_texts(json, "warnings", report.warnings);
  report::write_texts(json, "failures", report.failures);
  report::write_texts(json, "unsupported", report.unsupported);
  report::write_not_compared(json, report.not_compared);
  report::write_ran_on(json, report.runtime);
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
  add_layers(page, report.layers);
  report::add_before_after(page, report::before_after(report));
  if (report.method) page.sentence(fmt::format("Block quantization method: {}.", word_of(*report.method)));
  for (const Dataset from : kDatasets) add_costs(page, report, from);
  add_layer_costs(page, report.layers);
  report::add_proof(page, report.proof, kButForConstants);
  report::add_ran_on(page, report.runtime);
  report::add_load_check(page, report.load_check);
  report::add_sentences(page, fmt::format("Unsupported by {}", title_of(report)), report.unsupported);
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
