// What `thaw split` made: the parts, what passes between them, how they did beside the model; and where a model may be cut.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/proofs.h"
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
  json.member("accepted", report.accepted());
  json.member_array("parts");
  for (const SplitPart& part : report.parts) {
    json.begin_object();
    write_names(json, "inputs", part.inputs);
    write_names(json, "outputs", part.outputs);
    json.member("nodes", part.nodes);
    json.member("weight_bytes", part.weight_bytes);
    json.end_object();
  }
  json.end_array();
  write_names(json, "crossing_tensors", report.crossing_tensors);
  report::write_checks(json, report.checks);
  report::write_not_compared(json, report.not_compared);
  report::write_proof(json, report.proof);
  report::write_load_check(json, report.load_check);
  report::write_files_member(json, report.files);
  json.end_object();
  return text + "\n";
}

std::string to_text(const SplitReport& report, const TextOptions& how) {
  std::string text;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const SplitPart& part = report.parts[i];
    text +=
        report::printable(fmt::format("part {}: {}, {} of weights; {} -> {}", i + 1,
                                      report::counted(part.nodes, "node"), report::megabytes_text(part.weight_bytes),
                                      fmt::join(part.inputs, ", "), fmt::join(part.outputs, ", "))) +
        "\n";
  }
  if (!report.crossing_tensors.empty())
    text += report::printable(fmt::format("also crosses a cut: {}", fmt::join(report.crossing_tensors, ", "))) + "\n";
  text += report::checks_text(report.checks, "agrees with the original at", "DIFFERS from the original at");
  text += report::proof_text(report.proof, how.all);
  text += report::not_compared_text(report.not_compared);
  text += report::load_check_text(report.load_check);
  return text + (report.accepted() ? report::written_text(report.files) : "nothing was written\n");
}

std::string to_html(const SplitReport& report) {
  HtmlPage page(fmt::format("thaw split: {}", report.model));
  page.verdict(
      report.accepted() ? Outcome::kGood : Outcome::kBad, report::word_of_result(report.accepted(), report.files),
      report.parts.size() == 1 ? std::string("The part before the given outputs.")
                               : fmt::format("{} that run in sequence.", report::counted(report.parts.size(), "part")));
  report::add_load_check(page, report.load_check);
  std::vector<std::vector<HtmlCell>> rows;
  for (size_t i = 0; i < report.parts.size(); ++i) {
    const SplitPart& part = report.parts[i];
    rows.push_back({HtmlCell::count(i + 1), HtmlCell::count(part.nodes), HtmlCell::count(part.weight_bytes),
                    HtmlCell::list(part.inputs), HtmlCell::list(part.outputs)});
  }
  page.table({"part", "nodes", "weights, bytes", "inputs", "outputs"}, rows);
  if (!report.crossing_tensors.empty())
    page.sentence(fmt::format("Crosses more than one cut: {}.", fmt::join(report.crossing_tensors, ", ")));
  report::add_checked(page, report.checks, report.not_compared);
  report::add_proof(page, report.proof);
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
    } else if (point.bytes.find_first_not_of("0123456789") == std::string::npos) {
      json.raw(point.bytes);
    } else {
      json.value(point.bytes);
    }
    json.member("weight_share_before", point.weight_share_before);
    json.member("flops_share_before", point.flops_share_before);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

std::string to_text(const std::vector<CutPoint>& points) {
  if (points.empty()) return "no cut point with few tensors was found\n";
  report::Table table(72);
  table.add({"weights before", "FLOPs before", "bytes across", "--at"});
  for (const CutPoint& point : points)
    table.add({fmt::format("{:.0f} %", point.weight_share_before * 100),
               fmt::format("{:.0f} %", point.flops_share_before * 100), point.bytes.empty() ? "not known" : point.bytes,
               fmt::format("{}", fmt::join(point.tensors, ","))});
  return "cut points with little data across:\n" + table.text();
}

}  // namespace thaw
