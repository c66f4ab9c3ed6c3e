#include "thaw/cli/convert_report.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "thaw/report/json_writer.h"
#include "thaw/report/run_checks.h"
#include "thaw/report/table.h"

namespace thaw::cli {
namespace {

constexpr double kMegabyte = 1e6;

std::string decibels(double sqnr) { return std::isinf(sqnr) && sqnr > 0 ? "equal" : fmt::format("{:.1f} dB", sqnr); }

// Of each output the worst of all sizes, with how many there were.
std::string costs_text(const std::vector<OutputError>& errors) {
  std::map<std::string, std::pair<const OutputError*, size_t>> worst;
  std::vector<std::string> order;
  for (const OutputError& error : errors) {
    auto [at, fresh] = worst.try_emplace(error.output, &error, 0);
    if (fresh) order.push_back(error.output);
    if (error.sqnr < at->second.first->sqnr) at->second.first = &error;
    ++at->second.second;
  }
  if (order.empty()) return {};
  report::Table table;
  table.add({"output", "largest error", "of", "cosine", "signal to noise", "worst of"});
  for (const std::string& name : order) {
    const auto& [error, count] = worst.at(name);
    table.add({name, fmt::format("{:.3g}", error->max_abs), fmt::format("{:.3g}", error->largest),
               fmt::format("{:.7f}", error->cosine), decibels(error->sqnr),
               fmt::format("{} runs, {}", count, error->sizes)});
  }
  return "cost\n" + table.text();
}

std::string lines(std::string_view heading, const std::vector<std::string>& texts) {
  std::string text;
  for (const std::string& each : texts) text += fmt::format("{}: {}\n", heading, each);
  return text;
}

}  // namespace

std::vector<NoteView> convert_notes(const std::vector<Change>& changes) {
  std::vector<NoteView> notes;
  for (const Change& change : changes)
    notes.push_back({.code = {},
                     .where = change.place,
                     .message = change.why.empty() ? change.kind : change.kind + ": " + change.why,
                     .at = {}});
  return notes;
}

std::string convert_text(const ConvertReport& report, const Written& files, bool explain) {
  std::string text = fmt::format("nodes: {} -> {}\nconstants: {:.2f} MB -> {:.2f} MB\n", report.nodes_before,
                                 report.nodes_after, static_cast<double>(report.weights_before) / kMegabyte,
                                 static_cast<double>(report.weights_after) / kMegabyte);
  text += groups_text("converted", convert_notes(report.changed), explain, "--explain");
  if (!report.left.empty()) text += groups_text("kept", convert_notes(report.left), explain, "--explain");
  text += costs_text(report.errors);
  text += lines("warning", report.warnings);
  text += lines("FAILS", report.failures);
  text += report::uncompared_text(report.uncompared);
  if (!files.empty()) return text + written_text(files);
  if (report.runs())
    text += "feed it with --data or --values, where the model does not run on what is drawn; or say --no-check\n";
  return text + "nothing was written\n";
}

std::string convert_json(const std::string& model, const ConvertReport& report, const Written& files) {
  std::string text;
  report::JsonWriter json(text);
  json.begin_object();
  json.member("model", model);
  write_output_member(json, files);
  json.member("nodes_before", static_cast<int64_t>(report.nodes_before));
  json.member("nodes_after", static_cast<int64_t>(report.nodes_after));
  json.member("weights_before", static_cast<int64_t>(report.weights_before));
  json.member("weights_after", static_cast<int64_t>(report.weights_after));
  write_notes(json, "converted", convert_notes(report.changed));
  write_notes(json, "kept", convert_notes(report.left));
  json.member_array("errors");
  for (const OutputError& error : report.errors) {
    json.begin_object();
    json.member("sizes", error.sizes);
    json.member("output", error.output);
    json.member("max_abs", error.max_abs);
    json.member("largest", error.largest);
    json.member("cosine", error.cosine);
    json.member("sqnr", error.sqnr);
    json.member("elements", static_cast<int64_t>(error.elements));
    json.member("broken", static_cast<int64_t>(error.broken));
    json.end_object();
  }
  json.end_array();
  json.member_array("warnings");
  for (const std::string& warning : report.warnings) json.value(warning);
  json.end_array();
  json.member_array("failures");
  for (const std::string& failure : report.failures) json.value(failure);
  json.end_array();
  report::write_uncompared(json, report.uncompared);
  write_files_member(json, files);
  json.end_object();
  return text + "\n";
}

}  // namespace thaw::cli
