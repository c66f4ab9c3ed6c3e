// What `thaw verify` found: how far each output is from the reference's, at each size.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "thaw/report/html_page.h"
#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/report/style.h"
#include "thaw/run/sweep.h"
#include "thaw/verify.h"

namespace thaw {
namespace {

using report::html_text;
using report::HtmlCell;
using report::HtmlPage;
using report::JsonWriter;
using report::Outcome;
using report::Style;

constexpr std::string_view kHeatStyle =
#include "thaw/report/pages/verify.css.inc"
    ;

std::string_view status_name(VerifyStatus status) {
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

std::string inputs_text(const PointResult& point) {
  std::string text;
  for (const auto& [name, type] : point.inputs) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, type);
  return text;
}

// Where a size has no name of its own (a fixed model, a case of a file) its inputs say what was run.
std::string point_label(const PointResult& point) {
  std::string label = point.case_name.empty() ? "" : "case " + point.case_name;
  const std::string sizes = run::describe(run::Point{point.sizes});
  if (!sizes.empty()) return label + (label.empty() ? "" : ": ") + sizes;
  if (label.empty()) label = inputs_text(point);
  return label.empty() ? "no inputs" : label;
}

std::string padded(const std::string& text, size_t width) {
  const size_t columns = report::width_of(text);
  return text + std::string(columns < width ? width - columns : 0, ' ');
}

struct OutputRow {
  std::string output, type, max_abs_diff, max_rel_diff, cosine;
};

OutputRow row_of(const OutputResult& output) {
  OutputRow row{report::printable(output.name), output.actual, "-", "-", "-"};
  if (output.comparison.comparable) {
    row.max_abs_diff = fmt::format("{:.3g}", output.comparison.max_abs_diff);
    row.max_rel_diff = fmt::format("{:.3g}", output.comparison.max_rel_diff);
    row.cosine = fmt::format("{:.8f}", output.comparison.cosine);
  }
  return row;
}

void add_verified(std::string& text, const PointResult& point, size_t output_width, size_t type_width,
                  const Style& style) {
  const bool fine = point.status == VerifyStatus::kAgrees;
  text += style(Style::Look::kBold, report::printable(point_label(point))) + "  " +
          style(fine ? Style::Look::kGreen : Style::Look::kRed, status_name(point.status)) + "\n";
  if (!point.message.empty()) text += "  " + report::printable(point.message) + "\n";
  for (const OutputResult& output : point.outputs) {
    const OutputRow row = row_of(output);
    text += fmt::format("  {}  {}  {:>9}  {:>9}  {:>11}", padded(row.output, output_width),
                        padded(row.type, type_width), row.max_abs_diff, row.max_rel_diff, row.cosine);
    text += output.comparison.agrees ? "" : "  " + style(Style::Look::kRed, "differs");
    text += "\n";
    if (!output.comparison.agrees) text += "    " + report::printable(output.comparison.reason) + "\n";
  }
}

// The largest difference of all, and where.
std::string worst_output(const VerifyReport& report) {
  const OutputResult* worst = nullptr;
  double lowest_cosine = 1;
  for (const PointResult& point : report.points) {
    for (const OutputResult& output : point.outputs) {
      if (!output.comparison.comparable) continue;
      lowest_cosine = std::min(lowest_cosine, output.comparison.cosine);
      if (worst == nullptr || output.comparison.max_abs_diff > worst->comparison.max_abs_diff) worst = &output;
    }
  }
  if (worst == nullptr) return {};
  return fmt::format("; worst max abs {:.3g} ('{}'), lowest cosine {:.8f}", worst->comparison.max_abs_diff,
                     report::printable(worst->name), lowest_cosine);
}

void write_output_result(JsonWriter& json, const OutputResult& output) {
  const Comparison& comparison = output.comparison;
  json.begin_object(JsonWriter::Layout::kLine);
  json.member("name", output.name);
  json.member("agrees", comparison.agrees);
  json.optional_member("type", output.actual);
  json.optional_member("expected_type", output.expected == output.actual ? "" : output.expected);
  json.optional_member("message", comparison.reason);
  for (const auto& [key, value] : {std::pair<const char*, double>{"max_abs_diff", comparison.max_abs_diff},
                                   {"max_rel_diff", comparison.max_rel_diff},
                                   {"cosine", comparison.cosine}}) {
    json.key(key);
    if (comparison.comparable) {
      json.value(value);
    } else {
      json.null();
    }
  }
  json.member("elements", comparison.elements);
  json.member("outside_tolerance", comparison.outside_tolerance);
  json.member("not_finite", comparison.not_finite);
  json.member_array("worst_index");
  for (const int64_t index : comparison.worst_index) json.value(index);
  json.end_array();
  json.end_object();
}

Outcome verdict_at(VerifyStatus status) {
  return status == VerifyStatus::kAgrees           ? Outcome::kGood
         : status == VerifyStatus::kReferenceFails ? Outcome::kOpen
                                                   : Outcome::kBad;
}

std::string sizes_at(const PointResult& point) {
  std::string text = point.case_name;
  if (!point.sizes.empty()) text += (text.empty() ? "" : ", ") + run::describe(run::Point{point.sizes});
  return text.empty() ? inputs_text(point) : text;
}

// The largest difference of a point's outputs; nullopt where none could be compared.
std::optional<double> worst_at(const PointResult& point) {
  std::optional<double> worst;
  for (const OutputResult& output : point.outputs)
    if (output.comparison.comparable) worst = std::max(worst.value_or(0), output.comparison.max_abs_diff);
  return worst;
}

size_t heat_of(double difference) {
  constexpr double kMildest = -6;  // a millionth and less is as good as equal
  if (difference <= 0) return 0;
  return static_cast<size_t>(std::clamp(std::log10(difference) - kMildest, 0.0, 5.0));
}

std::string heat_cell(const PointResult* point) {
  if (point == nullptr) return "<td></td>";
  const std::optional<double> worst = worst_at(*point);
  if (!worst) return fmt::format("<td class=\"h5\">{}</td>", html_text(status_name(point->status)));
  const bool agrees = point->status == VerifyStatus::kAgrees;
  return fmt::format("<td class=\"h{}\">{:.1e}{}</td>", agrees ? heat_of(*worst) : 5, *worst, agrees ? "" : " differs");
}

// The names whose sizes differ from point to point.
std::vector<std::string> swept_names(const VerifyReport& report) {
  std::vector<std::string> names;
  std::map<std::string, std::set<int64_t>> values;
  for (const PointResult& point : report.points) {
    for (const auto& [name, size] : point.sizes) {
      if (!values.contains(name)) names.push_back(name);
      values[name].insert(size);
    }
  }
  std::erase_if(names, [&](const std::string& name) { return values[name].size() < 2; });
  return names;
}

int64_t size_at(const PointResult& point, const std::string& name) {
  const auto found = std::ranges::find(point.sizes, name, &NamedSizes::value_type::first);
  return found == point.sizes.end() ? 0 : found->second;
}

// Down one size, along the other; of several points in a cell the worst. With other sizes swept too they are folded in.
void add_heat_map(HtmlPage& page, const VerifyReport& report) {
  const std::vector<std::string> names = swept_names(report);
  if (names.size() < 2) return;
  std::set<int64_t> rows, columns;
  std::map<std::pair<int64_t, int64_t>, const PointResult*> cells;
  for (const PointResult& point : report.points) {
    const int64_t row = size_at(point, names[0]), column = size_at(point, names[1]);
    rows.insert(row);
    columns.insert(column);
    const PointResult*& cell = cells[{row, column}];
    constexpr double kNotCompared = std::numeric_limits<double>::infinity();
    if (cell == nullptr || worst_at(point).value_or(kNotCompared) > worst_at(*cell).value_or(kNotCompared))
      cell = &point;
  }
  page.style(kHeatStyle);
  page.heading(fmt::format("The largest difference by {} and {}", names[0], names[1]));
  if (names.size() > 2) page.sentence("Of points that differ in other sizes alone, the worst is shown.");
  std::string html =
      fmt::format("<div class=\"wide\" tabindex=\"0\"><table class=\"heat\">\n<thead><tr><th>{} \\ {}</th>",
                  html_text(names[0]), html_text(names[1]));
  for (const int64_t column : columns) html += fmt::format("<th scope=\"col\">{}</th>", column);
  html += "</tr></thead>\n<tbody>\n";
  for (const int64_t row : rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", row);
    for (const int64_t column : columns) {
      const auto found = cells.find({row, column});
      html += heat_cell(found == cells.end() ? nullptr : found->second);
    }
    html += "</tr>\n";
  }
  page.markup(html + "</tbody>\n</table></div>\n");
}

}  // namespace

std::string to_text(const VerifyReport& report, const TextOptions& how) {
  const Style style(how.colour);
  size_t output_width = 6, type_width = 4;
  for (const PointResult& point : report.points) {
    for (const OutputResult& output : point.outputs) {
      output_width = std::max(output_width, report::width_of(report::printable(output.name)));
      type_width = std::max(type_width, output.actual.size());
    }
  }
  std::string text =
      fmt::format("{} against {}\n\n", report::printable(report.model), report::printable(report.reference));
  text += style(Style::Look::kDim, fmt::format("  {}  {}  {:>9}  {:>9}  {:>11}", padded("output", output_width),
                                               padded("type", type_width), "max abs", "max rel", "cosine")) +
          "\n";
  for (const PointResult& point : report.points) add_verified(text, point, output_width, type_width, style);
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
  text += report.accepted()
              ? style(Style::Look::kGreen, fmt::format("agrees at {} {}", total, total == 1 ? "size" : "sizes"))
              : style(Style::Look::kRed, fmt::format("fails at {} of {} {}", total - static_cast<size_t>(agree), total,
                                                     total == 1 ? "size" : "sizes"));
  return text + worst_output(report) + "\n";
}

std::string to_json(const VerifyReport& report) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("model", report.model);
  json.member("reference", report.reference);
  json.member("accepted", report.accepted());
  json.member_array("points");
  for (const PointResult& point : report.points) {
    json.begin_object();
    json.optional_member("case", point.case_name);
    report::write_map(json, "sizes", point.sizes, JsonWriter::Layout::kLine);
    report::write_map(json, "inputs", point.inputs, JsonWriter::Layout::kLine);
    std::string status(status_name(point.status));
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
  report::write_texts(json, "notes", report.notes);
  report::write_texts(json, "warnings", report.warnings);
  json.end_object();
  return text + "\n";
}

std::string to_html(const VerifyReport& report) {
  HtmlPage page(fmt::format("thaw verify: {}", report.model));
  const auto agree = std::ranges::count(report.points, VerifyStatus::kAgrees, &PointResult::status);
  page.verdict(report.accepted() ? Outcome::kGood : Outcome::kBad, report.accepted() ? "agrees" : "differs",
               fmt::format("Compared with {} at {} of sizes; it agrees at {}.", report.reference,
                           report::counted(report.points.size(), "point"), agree));
  add_heat_map(page, report);
  page.heading("Every output");
  std::vector<std::vector<HtmlCell>> rows;
  for (const PointResult& point : report.points) {
    const HtmlCell status = HtmlCell::verdict(verdict_at(point.status), status_name(point.status));
    if (point.outputs.empty()) rows.push_back({HtmlCell::text(sizes_at(point)), status, HtmlCell::text(point.message)});
    for (const OutputResult& output : point.outputs) {
      const Comparison& figures = output.comparison;
      std::vector<HtmlCell> row{
          HtmlCell::text(sizes_at(point)),
          HtmlCell::verdict(figures.agrees ? Outcome::kGood : Outcome::kBad, figures.agrees ? "agrees" : "differs"),
          HtmlCell::code(fmt::format("{} {}", output.name, output.actual))};
      if (figures.comparable)
        for (const double figure : {figures.max_abs_diff, figures.max_rel_diff, figures.cosine})
          row.push_back(HtmlCell::number(figure));
      else
        row.insert(row.end(), 3, HtmlCell::text(""));
      row.push_back(HtmlCell::text(figures.reason));
      rows.push_back(std::move(row));
    }
  }
  page.table({"sizes", "status", "output", "max abs", "max rel", "cosine", "why"}, rows);
  for (const std::string& note : report.notes) page.sentence("Note: " + note + ".");
  return page.finish();
}

}  // namespace thaw
