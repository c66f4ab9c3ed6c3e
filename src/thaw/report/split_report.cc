// What `thaw split` made: the parts, what passes between them, how they did beside the model; and where a model may be cut.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/run_checks.h"
#include "thaw/report/table.h"
#include "thaw/split.h"

namespace thaw {
namespace {

using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;

void write_names(JsonWriter& json, std::string_view name, const std::vector<std::string>& names) {
  json.member_array(name, JsonWriter::Layout::kLine);
  for (const std::string& one : names) json.value(one);
  json.end_array();
}

}  // namespace

std::string to_json(const SplitReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  json.member("written", !report.files.empty());
  json.member_array("parts");
  for (const SplitPart& part : report.parts) {
    json.begin_object();
    write_names(json, "inputs", part.inputs);
    write_names(json, "outputs", part.outputs);
    json.member("nodes", part.nodes);
    json.member("weights", part.weights);
    json.end_object();
  }
  json.end_array();
  write_names(json, "carried", report.carried);
  report::write_checks(json, "sizes", report.checks);
  report::write_uncompared(json, report.uncompared);
  report::write_as_written(json, report.as_written);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const SplitReport& report, const TextOptions&) {
  std::string text;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const SplitPart& part = report.parts[i];
    text += report::printable(fmt::format("part {}: {}, {} of weights; {} -> {}", i + 1,
                                          report::counted(part.nodes, "node"), report::megabytes_text(part.weights),
                                          fmt::join(part.inputs, ", "), fmt::join(part.outputs, ", "))) +
            "\n";
  }
  if (!report.carried.empty())
    text += report::printable(fmt::format("passes cuts too: {}", fmt::join(report.carried, ", "))) + "\n";
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::uncompared_text(report.uncompared);
  text += report::as_written_text(report.as_written);
  return text + (report.accepted() ? report::written_text(report.files) : "nothing was written\n");
}

std::string to_html(const SplitReport& report) {
  HtmlPage page(fmt::format("thaw split: {}", report.model));
  page.verdict(report.accepted() ? Outcome::kGood : Outcome::kBad,
               report::word_of_result(report.accepted(), report.files),
               fmt::format("{} that run one after the other.", report::counted(report.parts.size(), "part")));
  report::add_as_written(page, report.as_written);
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const SplitPart& part = report.parts[i];
    rows.push_back({HtmlCell::count(i + 1), HtmlCell::count(part.nodes), HtmlCell::count(part.weights),
                    HtmlCell::list(part.inputs), HtmlCell::list(part.outputs)});
  }
  page.table({"part", "nodes", "weights, bytes", "inputs", "outputs"}, rows);
  if (!report.carried.empty()) page.sentence(fmt::format("Passes cuts too: {}.", fmt::join(report.carried, ", ")));
  report::add_checked(page, report.checks, report.uncompared);
  return page.finish();
}

std::string to_json(const std::vector<CutPoint>& points, const std::string& model) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", model);
  json.member_array("cut_points");
  for (const CutPoint& point : points) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member_array("tensors");
    for (const std::string& name : point.tensors) json.value(name);
    json.end_array();
    json.key("bytes");
    if (point.bytes.empty()) {
      json.null();
    } else {
      json.value(point.bytes);
    }
    json.member("weights_before", point.weights_before);
    json.member("flops_before", point.flops_before);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string to_text(const std::vector<CutPoint>& points) {
  if (points.empty()) return "there is no place that few tensors pass\n";
  report::Table table(72);
  table.add({"weights before", "operations before", "bytes that pass", "--at"});
  for (const CutPoint& point : points)
    table.add({fmt::format("{:.0f} %", point.weights_before * 100), fmt::format("{:.0f} %", point.flops_before * 100),
               point.bytes.empty() ? "not known" : point.bytes, fmt::format("{}", fmt::join(point.tensors, ","))});
  return "places where few numbers pass:\n" + table.text();
}

}  // namespace thaw
