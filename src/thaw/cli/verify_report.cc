#include "thaw/cli/verify_report.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "thaw/report/json_writer.h"
#include "thaw/report/printable.h"

namespace thaw::cli {

using report::JsonWriter;
using report::Style;

std::string_view name_of(VerifyStatus status) {
  switch (status) {
    case VerifyStatus::kAgrees:
      return "agrees";
    case VerifyStatus::kDiffers:
      return "differs";
    case VerifyStatus::kModelFails:
      return "model fails";
    case VerifyStatus::kReferenceFails:
      return "reference fails";
  }
  return "";
}

namespace {

// Where a size has no name of its own (a fixed model, a case of a file) its inputs say what was run.
std::string label_of(const PointResult& point) {
  std::string label = point.case_name.empty() ? "" : "case " + point.case_name;
  const std::string sizes = run::describe(run::Point{point.sizes});
  if (!sizes.empty()) return label + (label.empty() ? "" : ": ") + sizes;
  if (!label.empty()) return label;
  for (const auto& [name, type] : point.inputs) label += fmt::format("{}{} {}", label.empty() ? "" : ", ", name, type);
  return label.empty() ? "no inputs" : label;
}

std::string pad(const std::string& text, size_t width) {
  const size_t columns = report::width_of(text);
  return text + std::string(columns < width ? width - columns : 0, ' ');
}

struct Row {
  std::string output, type, max_abs, max_rel, cosine;
};

Row row_of(const OutputResult& output) {
  Row row{report::printable(output.name), output.actual, "-", "-", "-"};
  if (output.comparison.comparable) {
    row.max_abs = fmt::format("{:.3g}", output.comparison.max_abs);
    row.max_rel = fmt::format("{:.3g}", output.comparison.max_rel);
    row.cosine = fmt::format("{:.8f}", output.comparison.cosine);
  }
  return row;
}

void add_point(std::string& text, const PointResult& point, size_t output_width, size_t type_width,
               const Style& style) {
  const bool fine = point.status == VerifyStatus::kAgrees;
  text += style(Style::Look::kBold, report::printable(label_of(point))) + "  " +
          style(fine ? Style::Look::kGreen : Style::Look::kRed, name_of(point.status)) + "\n";
  if (!point.message.empty()) text += "  " + report::printable(point.message) + "\n";
  for (const OutputResult& output : point.outputs) {
    const Row row = row_of(output);
    text += fmt::format("  {}  {}  {:>9}  {:>9}  {:>11}", pad(row.output, output_width), pad(row.type, type_width),
                        row.max_abs, row.max_rel, row.cosine);
    text += output.comparison.passed ? "" : "  " + style(Style::Look::kRed, "differs");
    text += "\n";
    if (!output.comparison.passed) text += "    " + report::printable(output.comparison.reason) + "\n";
  }
}

// The largest difference of all, and where.
std::string worst_of(const VerifyReport& report) {
  const OutputResult* worst = nullptr;
  double lowest_cosine = 1;
  for (const PointResult& point : report.points) {
    for (const OutputResult& output : point.outputs) {
      if (!output.comparison.comparable) continue;
      lowest_cosine = std::min(lowest_cosine, output.comparison.cosine);
      if (worst == nullptr || output.comparison.max_abs > worst->comparison.max_abs) worst = &output;
    }
  }
  if (worst == nullptr) return {};
  return fmt::format("; worst max abs {:.3g} ('{}'), lowest cosine {:.8f}", worst->comparison.max_abs,
                     report::printable(worst->name), lowest_cosine);
}

}  // namespace

std::string verify_text(const VerifyOptions& options, const VerifyReport& report, const Style& style) {
  size_t output_width = 6, type_width = 4;
  for (const PointResult& point : report.points) {
    for (const OutputResult& output : point.outputs) {
      output_width = std::max(output_width, report::width_of(report::printable(output.name)));
      type_width = std::max(type_width, output.actual.size());
    }
  }
  std::string text = fmt::format("{} against {}\n\n", report::printable(options.model.string()),
                                 report::printable(options.reference.string()));
  text += style(Style::Look::kDim, fmt::format("  {}  {}  {:>9}  {:>9}  {:>11}", pad("output", output_width),
                                               pad("type", type_width), "max abs", "max rel", "cosine")) +
          "\n";
  for (const PointResult& point : report.points) add_point(text, point, output_width, type_width, style);
  text += "\n";
  for (const std::string& note : report.notes) text += "note: " + report::printable(note) + "\n";
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < report.warnings.size() && i < kShown; ++i) {
    text += "warning: ONNX Runtime: " + report::printable(report.warnings[i]) + "\n";
  }
  if (report.warnings.size() > kShown) {
    text += fmt::format("warning: {} more of ONNX Runtime (--format json has them)\n", report.warnings.size() - kShown);
  }
  const auto agree = std::count_if(report.points.begin(), report.points.end(),
                                   [](const PointResult& point) { return point.status == VerifyStatus::kAgrees; });
  const size_t total = report.points.size();
  text += report.passed()
              ? style(Style::Look::kGreen, fmt::format("agrees at {} {}", total, total == 1 ? "size" : "sizes"))
              : style(Style::Look::kRed, fmt::format("fails at {} of {} {}", total - static_cast<size_t>(agree), total,
                                                     total == 1 ? "size" : "sizes"));
  return text + worst_of(report) + "\n";
}

namespace {

void write_output_result(JsonWriter& json, const OutputResult& output) {
  const run::Comparison& comparison = output.comparison;
  json.begin_object(JsonWriter::Layout::kLine);
  json.member("name", output.name);
  json.member("passed", comparison.passed);
  json.optional_member("type", output.actual);
  json.optional_member("expected_type", output.expected == output.actual ? "" : output.expected);
  json.optional_member("reason", comparison.reason);
  for (const auto& [key, value] : {std::pair<const char*, double>{"max_abs", comparison.max_abs},
                                   {"max_rel", comparison.max_rel},
                                   {"cosine", comparison.cosine}}) {
    json.key(key);
    if (comparison.comparable) {
      json.value(value);
    } else {
      json.null();
    }
  }
  json.member("elements", comparison.elements);
  json.member("outside", comparison.outside);
  json.member("not_finite", comparison.not_finite);
  json.member_array("worst");
  for (const int64_t index : comparison.worst) json.value(index);
  json.end_array();
  json.end_object();
}

void write_texts(JsonWriter& json, std::string_view name, const std::vector<std::string>& texts) {
  json.member_array(name);
  for (const std::string& text : texts) json.value(text);
  json.end_array();
}

}  // namespace

std::string verify_json(const VerifyOptions& options, const VerifyReport& report) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("model", options.model.string());
  json.member("reference", options.reference.string());
  json.member("passed", report.passed());
  json.member_array("points");
  for (const PointResult& point : report.points) {
    json.begin_object();
    json.optional_member("case", point.case_name);
    json.member_object("sizes", JsonWriter::Layout::kLine);
    for (const auto& [name, size] : point.sizes) json.member(name, size);
    json.end_object();
    json.member_object("inputs", JsonWriter::Layout::kLine);
    for (const auto& [name, type] : point.inputs) json.member(name, type);
    json.end_object();
    std::string status(name_of(point.status));
    std::replace(status.begin(), status.end(), ' ', '_');
    json.member("status", status);
    json.optional_member("message", point.message);
    json.member("model_seconds", point.model_seconds);
    json.member("reference_seconds", point.reference_seconds);
    json.member_array("outputs");
    for (const OutputResult& output : point.outputs) write_output_result(json, output);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  write_texts(json, "notes", report.notes);
  write_texts(json, "warnings", report.warnings);
  json.end_object();
  return text + "\n";
}

}  // namespace thaw::cli
